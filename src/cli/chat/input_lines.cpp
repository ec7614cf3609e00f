// SPDX-License-Identifier: Apache-2.0
#include "cli/chat/input_lines.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/output/terminal.h"

namespace cachalot {
namespace {

// Until there is something to read, or an interrupt. The signals are blocked but within ppoll(), so that none is missed
// between asking for it and waiting.
void wait_for(int descriptor) {
  sigset_t ends, before;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  ::pthread_sigmask(SIG_BLOCK, &ends, &before);
  pollfd input{.fd = descriptor, .events = POLLIN, .revents = 0};
  while (!interrupted() && ::ppoll(&input, 1, nullptr, &before) < 0 && errno == EINTR) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Expected<bool> InputLines::read_more() {
  std::array<char, 1 << 16> bytes;
  while (true) {
    wait_for(descriptor_);
    if (interrupted()) return false;
    const ssize_t n = ::read(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (n < 0) return fail(Errc::io, "can't read standard input: {}", std::strerror(errno));
    bytes_.append(bytes.data(), static_cast<std::size_t>(n));
    return n > 0;
  }
}

Expected<std::optional<std::string>> InputLines::next() {
  while (true) {
    if (interrupted()) return std::nullopt;
    const std::size_t end = bytes_.find('\n', scan_);
    if (end != std::string::npos) {
      std::string line = bytes_.substr(0, end);
      bytes_.erase(0, end + 1);
      scan_ = 0;
      return line;
    }
    scan_ = bytes_.size();
    if (scan_ > longest) {
      return fail(Errc::range, "a line of standard input has more than {} bytes: a turn is no longer than that",
                  longest);
    }
    if (over_ && bytes_.empty()) return std::nullopt;
    if (over_) {
      scan_ = 0;
      return std::exchange(bytes_, {});
    }
    const auto more = read_more();
    if (!more) return tl::unexpected(more.error());
    over_ = !*more && !interrupted();
  }
}

}  // namespace cachalot
