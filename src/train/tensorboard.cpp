#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "base/file_writer.hpp"
#include "scalecalc/train.hpp"
#include "train/crc32c.hpp"
#include "train/files.hpp"
#include "train/records.hpp"

namespace scalecalc {
namespace {

/// Protocol buffers' wire format, as far as an Event needs it.
class Message {
 public:
  void varint(int field, std::uint64_t value) {
    key(field, 0);
    put_varint(value);
  }
  void fixed64(int field, double value) {
    key(field, 1);
    put(std::bit_cast<std::uint64_t>(value), 8);
  }
  void fixed32(int field, float value) {
    key(field, 5);
    put(std::bit_cast<std::uint32_t>(value), 4);
  }
  void bytes(int field, const std::string& value) {
    key(field, 2);
    put_varint(value.size());
    text_ += value;
  }
  /// The lowest `count` bytes of the value, the least significant first.
  void put(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  const std::string& text() const { return text_; }

 private:
  void key(int field, int type) { put_varint(static_cast<std::uint64_t>(field << 3 | type)); }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7F) | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

/// TFRecord: its length, the check of that, the bytes, their check; checks are rotated and shifted.
std::string record_of(const std::string& bytes) {
  const auto masked = [](const std::string& checked) {
    const std::uint32_t crc = train_room::crc32c(checked);
    return std::rotr(crc, 15) + 0xA282EAD8u;
  };
  Message length, record;
  length.put(bytes.size(), 8);
  record.put(bytes.size(), 8);
  record.put(masked(length.text()), 4);
  Message check;
  check.put(masked(bytes), 4);
  return record.text() + bytes + check.text();
}

/// event.proto: wall_time 1, step 2, file_version 3, summary 5.
Message event_at(std::int64_t step) {
  Message event;
  // No clock: the same training gives the same file.
  event.fixed64(1, static_cast<double>(step));
  if (step > 0) event.varint(2, static_cast<std::uint64_t>(step));
  return event;
}

/// summary.proto: of a Summary value 1; of a value tag 1 and simple_value 2.
void add_scalar(Message& summary, const std::string& tag, double number) {
  Message value;
  value.bytes(1, tag);
  value.fixed32(2, static_cast<float>(number));
  summary.bytes(1, value.text());
}

std::string record_of(const TrainRecord& record) {
  Message summary;
  add_scalar(summary, "loss/train", record.loss);
  add_scalar(summary, "loss/validation", record.validation_loss);
  add_scalar(summary, "perplexity/validation", std::exp(record.validation_loss));
  add_scalar(summary, "update_ratio", record.update_ratio);
  add_scalar(summary, "gradient_norm/total", record.gradient.total);
  for (std::size_t i = 0; i < record.gradient.layers.size(); ++i) {
    add_scalar(summary, "gradient_norm/" + record.gradient.layers[i], record.gradient.norms[i]);
  }
  for (const auto& [path, value] : record.scales) add_scalar(summary, path, value);
  Message event = event_at(record.step);
  event.bytes(5, summary.text());
  return record_of(event.text());
}

}  // namespace

std::string tensorboard_events(const TrainRun& run) {
  Message version = event_at(0);
  version.bytes(3, "brain.Event:2");
  std::string events = record_of(version.text());
  for (const TrainRecord& record : run.records) events += record_of(record);
  return events;
}

void write_tensorboard(const std::vector<TrainRun>& runs, const std::string& folder) {
  for (const TrainRun& run : runs) {
    const std::filesystem::path own = std::filesystem::path(folder) / train_room::run_name(run);
    train_room::make_folder(own.string());
    base::write_file((own / "events.out.tfevents.0.scalecalc").string(), tensorboard_events(run));
  }
}

}  // namespace scalecalc
