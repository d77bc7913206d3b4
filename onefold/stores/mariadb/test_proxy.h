#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace onefold::mariadb {

/// A way to a server of this machine that ends at a word of the client's.
class TestProxy {
 public:
  enum class Cut {
    before,  ///< The server never sees the message.
    after,   ///< The server answers it, and the client never sees the answer.
    silent,  ///< As `after`, but the connection stays open and nothing comes any more.
  };

  explicit TestProxy(unsigned int server_port)
      : server_port_{server_port}, listener_{::socket(AF_INET, SOCK_STREAM, 0)} {
    sockaddr_in address = here(0);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 8) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error{"no port for the proxy"};
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread{[this] { accept_all(); }};
  }
  ~TestProxy() {
    stopping_ = true;
    thread_.join();
    ::close(listener_);
  }
  TestProxy(const TestProxy&) = delete;
  TestProxy& operator=(const TestProxy&) = delete;

  unsigned int port() const noexcept { return port_; }
  /// The next message that holds `word` is the last one.
  void cut(std::string word, Cut how) {
    word_ = std::move(word);
    how_ = how;
    armed_ = true;
  }
  bool has_cut() const noexcept { return has_cut_; }

 private:
  static sockaddr_in here(unsigned int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  static bool readable(int socket, int patience_ms) {
    pollfd wanted{socket, POLLIN, 0};
    return ::poll(&wanted, 1, patience_ms) == 1;
  }

  void accept_all() {
    std::vector<std::thread> connections;
    while (!stopping_) {
      if (!readable(listener_, 20)) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      connections.emplace_back([this, client] { carry(client); });
    }
    for (std::thread& each : connections) each.join();
  }

  /// False once the way has ended.
  bool pass(int from, int to, bool from_client) {
    std::array<char, 65'536> bytes;
    const ssize_t size = ::recv(from, bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    const std::string_view message{bytes.data(), static_cast<std::size_t>(size)};
    const bool last = from_client && armed_ && message.find(word_) != std::string_view::npos;
    if (last) {
      armed_ = false;
      has_cut_ = true;
      if (how_ == Cut::before) return false;
    }
    ::send(to, bytes.data(), message.size(), MSG_NOSIGNAL);
    if (last) {
      // The answer shows that the server has done it.
      readable(to, 5'000);
      if (how_ == Cut::silent) {
        while (!stopping_ && !readable(from, 20)) {
        }
      }
    }
    return !last;
  }

  void carry(int client) {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = here(server_port_);
    bool open = ::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    while (open && !stopping_) {
      if (readable(client, 1)) open = pass(client, server, true);
      if (open && readable(server, 1)) open = pass(server, client, false);
    }
    ::close(server);
    ::close(client);
  }

  unsigned int server_port_;
  int listener_;
  unsigned int port_ = 0;
  std::string word_;
  Cut how_ = Cut::before;
  std::atomic<bool> armed_ = false;
  std::atomic<bool> has_cut_ = false;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace onefold::mariadb
