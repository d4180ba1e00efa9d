#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "scalecalc/error.hpp"

/// What ranks send each other: values one after the other, as this machine has them in memory.
namespace scalecalc::cluster {

class Writer {
 public:
  template <class Value>
  requires std::is_trivially_copyable_v<Value>
  void put(const Value& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  void put(const std::vector<double>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes in the order in which it was put. Throws Error(fault) at the end of the bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <class Value>
  requires std::is_trivially_copyable_v<Value> Value get() {
    Value value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(bytes(get<std::uint64_t>())); }
  std::vector<double> numbers() {
    const std::uint64_t count = get<std::uint64_t>();
    const std::string_view from = bytes(count * sizeof(double));
    std::vector<double> values(count);
    if (count > 0) std::memcpy(values.data(), from.data(), from.size());
    return values;
  }
  bool empty() const { return left_.empty(); }

 private:
  std::string_view bytes(std::uint64_t count) {
    if (count > left_.size()) {
      throw Error(ErrorKind::fault, "a message from another rank is cut short", "ranks",
                  "start the same program on every machine");
    }
    const std::string_view part = left_.substr(0, count);
    left_.remove_prefix(count);
    return part;
  }

  std::string_view left_;
};

}  // namespace scalecalc::cluster
