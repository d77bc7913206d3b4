#include "onefold/brokers/file/running_digest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <new>

namespace onefold::file {

struct RunningDigest::Context {
  Context() {
    if (handle == nullptr) throw std::bad_alloc{};
    begin();
  }
  Context(Context&&) = delete;
  ~Context() { EVP_MD_CTX_free(handle); }
  /// SHA-256 is in every provider of OpenSSL: only memory can be short.
  void begin() const {
    if (EVP_DigestInit_ex(handle, EVP_sha256(), nullptr) != 1) throw std::bad_alloc{};
  }
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
};

RunningDigest::RunningDigest() = default;
RunningDigest::~RunningDigest() = default;
RunningDigest::RunningDigest(RunningDigest&&) noexcept = default;
RunningDigest& RunningDigest::operator=(RunningDigest&&) noexcept = default;

void RunningDigest::add(std::string_view bytes) {
  // Most readers never meet an element that is too large.
  if (!context_) context_ = std::make_unique<Context>();
  if (EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) != 1) throw std::bad_alloc{};
}

std::string RunningDigest::finish() {
  add({});
  std::array<std::uint8_t, 32> digest;
  if (EVP_DigestFinal_ex(context_->handle, digest.data(), nullptr) != 1) throw std::bad_alloc{};
  context_->begin();
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace onefold::file
