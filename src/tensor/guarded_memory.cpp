// SPDX-License-Identifier: Apache-2.0
#include "tensor/guarded_memory.h"

#include <new>

#include "base/check.h"
#include "base/system_memory.h"

namespace cachalot {
namespace {

std::byte* addresses(std::int64_t bytes) {
  std::byte* const at = reserve_addresses(static_cast<std::size_t>(bytes));
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

}  // namespace

std::byte* GuardedMemory::take(std::int64_t bytes) {
  if (bytes == 0) return nullptr;
  HeldMemory host = take_memory(host_memory(), bytes);
  std::byte* const at = addresses(bytes);
  const std::lock_guard lock(mutex_);
  pieces_[at] = {bytes, host.release()};
  return at;
}

std::byte* GuardedMemory::grow(std::byte* at, std::int64_t bytes, std::int64_t to) {
  if (at == nullptr) return take(to);
  std::byte* const moved = addresses(to);
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(at);
  check(piece != pieces_.end() && piece->second.bytes == bytes, "memory that was taken here");
  std::byte* const host = host_memory().grow(piece->second.host, bytes, to);
  pieces_.erase(piece);
  pieces_[moved] = {to, host};
  unmap_memory(at, static_cast<std::size_t>(bytes));
  return moved;
}

void GuardedMemory::give(std::byte* at, std::int64_t bytes) noexcept {
  if (at == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto piece = pieces_.find(at);
  check(piece != pieces_.end() && piece->second.bytes == bytes, "memory that was taken here");
  host_memory().give(piece->second.host, bytes);
  pieces_.erase(piece);
  unmap_memory(at, static_cast<std::size_t>(bytes));
}

void GuardedMemory::clear(std::byte* at, std::int64_t bytes) { host_memory().clear(behind(at, bytes), bytes); }

void GuardedMemory::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  host_memory().copy(behind(to, bytes), behind(from, bytes), bytes);
}

void GuardedMemory::upload(std::byte* to, std::span<const std::byte> from) {
  host_memory().upload(behind(to, std::ssize(from)), from);
}

void GuardedMemory::download(std::span<std::byte> to, const std::byte* from) const {
  host_memory().download(to, behind(from, std::ssize(to)));
}

std::byte* GuardedMemory::behind(const std::byte* at, std::int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto piece = pieces_.upper_bound(at);
  if (piece == pieces_.begin()) return const_cast<std::byte*>(at);
  --piece;
  const std::int64_t offset = at - piece->first;
  if (offset >= piece->second.bytes) return const_cast<std::byte*>(at);
  check(offset + bytes <= piece->second.bytes, "bytes within one piece of memory");
  return piece->second.host + offset;
}

GuardedMemory& guarded_memory() {
  static GuardedMemory& memory = *new GuardedMemory;  // never destroyed, as host_memory()
  return memory;
}

}  // namespace cachalot
