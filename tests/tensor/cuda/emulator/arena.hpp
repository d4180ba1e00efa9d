#pragma once

#include <cstddef>

namespace emulator {

/// Device memory can be touched from open() to close(), which comes when the host waits for the
/// device: host code that then reads it behind the device's back is stopped, as it would be on a
/// real device.
void open();
void close();

/// Null when there is no room left.
void* take(std::size_t bytes);
/// False for what was never taken.
bool give_back(void* data);
std::size_t bytes_taken();
inline constexpr std::size_t kArenaBytes = std::size_t{64} << 20;

}  // namespace emulator
