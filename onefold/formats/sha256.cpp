#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include "onefold/formats/fingerprint.h"

namespace onefold {
namespace {

struct FreeAlgorithm {
  void operator()(EVP_MD* algorithm) const { EVP_MD_free(algorithm); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

/// Looking the algorithm up costs more than hashing an id, so that each thread does it once.
class Sha256 {
 public:
  Sha256() : algorithm_{EVP_MD_fetch(nullptr, "SHA256", nullptr)}, context_{EVP_MD_CTX_new()} {
    // SHA-256 is in every provider of OpenSSL: only memory can be short.
    if (!algorithm_ || !context_) throw std::bad_alloc{};
    begin(algorithm_.get());
  }
  void add(const void* bytes, std::size_t size) {
    if (EVP_DigestUpdate(context_.get(), bytes, size) != 1) throw std::bad_alloc{};
  }
  /// Leaves the context ready for the next text.
  std::array<std::uint8_t, 32> finish_whole() {
    std::array<std::uint8_t, 32> digest;
    if (EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) != 1) throw std::bad_alloc{};
    begin(nullptr);
    return digest;
  }
  std::array<std::uint8_t, 16> finish() {
    const std::array<std::uint8_t, 32> digest = finish_whole();
    std::array<std::uint8_t, 16> cut;
    std::copy_n(digest.begin(), cut.size(), cut.begin());
    return cut;
  }

 private:
  void begin(const EVP_MD* algorithm) {
    if (EVP_DigestInit_ex2(context_.get(), algorithm, nullptr) != 1) throw std::bad_alloc{};
  }
  std::unique_ptr<EVP_MD, FreeAlgorithm> algorithm_;
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

Sha256& hash_of_thread() {
  thread_local Sha256 hash;
  return hash;
}

void write_big_endian(std::uint64_t number, std::uint8_t* out) {
  for (int shift = 56; shift >= 0; shift -= 8) *out++ = static_cast<std::uint8_t>(number >> shift);
}

}  // namespace

std::array<std::uint8_t, 16> sha256_128(std::string_view bytes) {
  Sha256& hash = hash_of_thread();
  hash.add(bytes.data(), bytes.size());
  return hash.finish();
}

std::string sha256_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  Sha256& hash = hash_of_thread();
  hash.add(bytes.data(), bytes.size());
  std::string text;
  for (const std::uint8_t byte : hash.finish_whole()) {
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 0xFU]);
  }
  return text;
}

std::array<std::uint8_t, 16> sha256_128_of_parts(std::initializer_list<std::string_view> parts) {
  return sha256_128_of_parts(std::span{parts.begin(), parts.size()});
}

std::array<std::uint8_t, 16> sha256_128_of_parts(std::span<const std::string_view> parts) {
  Sha256& hash = hash_of_thread();
  for (const std::string_view part : parts) {
    std::array<std::uint8_t, 8> length;
    write_big_endian(part.size(), length.data());
    hash.add(length.data(), length.size());
    hash.add(part.data(), part.size());
  }
  return hash.finish();
}

}  // namespace onefold
