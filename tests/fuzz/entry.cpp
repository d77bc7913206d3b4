#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

/// What libFuzzer calls. ONEFOLD_FUZZ_TARGET is one of the functions in targets.h.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  onefold::fuzz::ONEFOLD_FUZZ_TARGET({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
