#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "scalecalc/train.hpp"
#include "train/crc32c.hpp"

using namespace scalecalc;

namespace {

template <class Value>
Value read(const std::string& text, std::size_t at) {
  Value value;
  REQUIRE(at + sizeof value <= text.size());
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

/// What TensorFlow writes for a check (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t masked(const std::string& bytes) {
  const std::uint32_t crc = train_room::crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/// The events of a file, every length and check looked at.
std::vector<std::string> events_of(const std::string& file) {
  std::vector<std::string> events;
  for (std::size_t at = 0; at < file.size();) {
    const auto length = static_cast<std::size_t>(read<std::uint64_t>(file, at));
    CHECK(read<std::uint32_t>(file, at + 8) == masked(file.substr(at, 8)));
    events.push_back(file.substr(at + 12, length));
    CHECK(read<std::uint32_t>(file, at + 12 + length) == masked(events.back()));
    at += 16 + length;
  }
  return events;
}

}  // namespace

TEST_CASE("crc32c: the values of RFC 3720, appendix B.4") {
  CHECK(train_room::crc32c("123456789") == 0xE3069283);
  CHECK(train_room::crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(train_room::crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  std::string rising;
  for (char byte = 0; byte < 32; ++byte) rising += byte;
  CHECK(train_room::crc32c(rising) == 0x46DD794E);
}

TEST_CASE("tensorboard: events are records of the wire format, byte by byte") {
  TrainRun run;
  TrainRecord record;
  record.step = 300;
  record.loss = 2.0;
  record.validation_loss = 0.0;
  record.update_ratio = 0.5;
  record.gradient = {1.0, {"head"}, {4.0}};
  run.records = {record};
  const std::vector<std::string> events = events_of(tensorboard_events(run));
  REQUIRE(events.size() == 2);
  CHECK(events[0] == std::string("\x09\0\0\0\0\0\0\0\0\x1A\x0D", 11) + "brain.Event:2");
  // Field 1 the double 300, field 2 the varint 300, field 5 a message that ends the event.
  const std::string& event = events[1];
  CHECK(event.substr(0, 13) == std::string("\x09\0\0\0\0\0\xC0\x72\x40\x10\xAC\x02\x2A", 13));
  const auto has = [&event](const std::string& tag, const std::string& number) {
    const std::string value =
        "\x0A" + std::string(1, static_cast<char>(tag.size())) + tag + "\x15" + number;
    return event.find("\x0A" + std::string(1, static_cast<char>(value.size())) + value) !=
           std::string::npos;
  };
  CHECK(has("loss/train", std::string("\0\0\0\x40", 4)));
  CHECK(has("loss/validation", std::string("\0\0\0\0", 4)));
  CHECK(has("perplexity/validation", std::string("\0\0\x80\x3F", 4)));
  CHECK(has("update_ratio", std::string("\0\0\0\x3F", 4)));
  CHECK(has("gradient_norm/total", std::string("\0\0\x80\x3F", 4)));
  CHECK(has("gradient_norm/head", std::string("\0\0\x80\x40", 4)));
}
