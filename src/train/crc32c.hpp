#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// The cyclic redundancy check of Castagnoli's polynomial (RFC 3720, appendix B.4), reflected.
namespace scalecalc::train_room {

inline std::uint32_t crc32c(std::string_view bytes) {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t state = byte;
      for (int bit = 0; bit < 8; ++bit) {
        state = (state & 1) != 0 ? (state >> 1) ^ kPolynomial : state >> 1;
      }
      table[byte] = state;
    }
    return table;
  }();
  std::uint32_t state = 0xFFFFFFFF;
  for (const char byte : bytes) {
    state = kTable[(state ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (state >> 8);
  }
  return ~state;
}

}  // namespace scalecalc::train_room
