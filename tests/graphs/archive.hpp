#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

/// Zip archives for tests, right and wrong ones.
namespace scalecalc::testing {

struct ArchiveEntry {
  std::string name, bytes;
  std::uint16_t method = 0, flags = 0;
  std::uint32_t claimed_size = 0;  ///< 0: as large as it is
  std::uint32_t moved = 0;         ///< by how much its place in the directory is wrong
};

template <class Number>
void put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

inline std::string zip(const std::vector<ArchiveEntry>& entries) {
  std::string out, directory;
  for (const ArchiveEntry& entry : entries) {
    const auto at = static_cast<std::uint32_t>(out.size());
    const auto size = entry.claimed_size != 0 ? entry.claimed_size
                                              : static_cast<std::uint32_t>(entry.bytes.size());
    const auto name_size = static_cast<std::uint16_t>(entry.name.size());
    const auto common = [&](std::string& to) {
      put<std::uint16_t>(to, 20);
      put<std::uint16_t>(to, entry.flags);
      put<std::uint16_t>(to, entry.method);
      put<std::uint32_t>(to, 0);
      put<std::uint32_t>(to, 0);
      put<std::uint32_t>(to, static_cast<std::uint32_t>(entry.bytes.size()));
      put<std::uint32_t>(to, size);
      put<std::uint16_t>(to, name_size);
      put<std::uint16_t>(to, 0);
    };
    put<std::uint32_t>(out, 0x04034b50);
    common(out);
    out += entry.name + entry.bytes;
    put<std::uint32_t>(directory, 0x02014b50);
    put<std::uint16_t>(directory, 20);
    common(directory);
    directory.append(10, '\0');  // comment, disk, attributes
    put<std::uint32_t>(directory, at + entry.moved);
    directory += entry.name;
  }
  const auto begin = static_cast<std::uint32_t>(out.size());
  out += directory;
  put<std::uint32_t>(out, 0x06054b50);
  put<std::uint32_t>(out, 0);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entries.size()));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(entries.size()));
  put<std::uint32_t>(out, static_cast<std::uint32_t>(directory.size()));
  put<std::uint32_t>(out, begin);
  put<std::uint16_t>(out, 0);
  return out;
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace scalecalc::testing
