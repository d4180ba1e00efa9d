#include "weights/safetensors.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "scalecalc/error.hpp"
#include "temporary_folder.hpp"

using namespace scalecalc;
using weights::Dtype;
using weights::Limits;
using weights::Reader;
using weights::Tensor;

namespace {

namespace fs = std::filesystem;

using Folder = testing::TemporaryFolder;

void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A file of that header and so many bytes of values.
std::string file_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data, '\0');
}

std::string entry(const std::string& name, const std::string& shape, int begin, int end,
                  const std::string& dtype = "F32") {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

/// "MESSAGE | WHERE | HINT" of the error of opening `path`.
std::string error_of_path(const std::string& path) {
  try {
    Reader reader(path);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where().find(fs::path(path).filename().string()) != std::string::npos);
    CHECK(!error.hint().empty());
    const std::string line = error.what();
    CHECK(line.find_first_of("\n\r\x1b") == std::string::npos);
    CHECK(line.size() < 600);
    return error.message();
  }
  return "no error";
}

std::string error_of(const std::string& bytes) {
  const Folder folder;
  put(folder / "w.safetensors", bytes);
  return error_of_path(folder / "w.safetensors");
}

std::string error_of_header(const std::string& header, std::size_t data = 0) {
  return error_of(file_of(header, data));
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

float number(std::size_t tensor, std::int64_t i) {
  return static_cast<float>(tensor + 1) * static_cast<float>(i % 2001 - 1000) / 1024.0f;
}

void fill_numbers(std::size_t tensor, std::int64_t first, std::int64_t count, float* values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = number(tensor, first + i);
}

}  // namespace

TEST_CASE("what is written is read again, block by block") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  const std::vector<weights::Outline> outlines = {{"transformer.wte.weight", {300, 517}},
                                                  {"bias", {7}},
                                                  {"scale", {}},
                                                  {"none", {3, 0}},
                                                  {"näme \"quoted\" \\", {2, 2, 2}}};
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    weights::write(path, outlines, fill_numbers, {dtype, {{"format", "pt"}}});
    const Reader reader(path);
    REQUIRE(reader.tensors().size() == outlines.size());
    CHECK(reader.bytes() == fs::file_size(path));
    CHECK(reader.files() == std::vector<std::string>{path});
    CHECK(reader.tensors()[0].begin % 8 == 0);
    int wrong = 0, seen = 0;
    for (const Tensor& tensor : reader.tensors()) {
      std::size_t k = 0;
      while (outlines[k].name != tensor.name) ++k;
      CHECK(tensor.shape == outlines[k].shape);
      CHECK(tensor.dtype == dtype);
      std::vector<double> values(static_cast<std::size_t>(tensor.elements));
      reader.read(tensor, 0, tensor.elements, values.data());
      // All numbers have at most 12 bits; those of bfloat16 have 8.
      const double relative = dtype == Dtype::f32 ? 0 : dtype == Dtype::f16 ? 0x1p-11 : 0x1p-8;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double expected = number(k, static_cast<std::int64_t>(i));
        wrong += std::abs(values[i] - expected) <= relative * std::abs(expected) ? 0 : 1;
        ++seen;
      }
    }
    CHECK(wrong == 0);
    CHECK(seen == 300 * 517 + 7 + 1 + 8);
  }
}

TEST_CASE("a part of a tensor is read from its place") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  weights::write(path, {{"a", {100}}, {"b", {50, 200}}}, fill_numbers);
  const Reader reader(path);
  const Tensor& b = reader.tensors()[1];
  std::vector<double> values(8000);
  reader.read(b, 1234, 8000, values.data());
  CHECK(values[0] == number(1, 1234));
  CHECK(values[7999] == number(1, 9233));
  float raw = 0;
  reader.read_bytes(b, 4 * 77, 4, &raw);
  CHECK(raw == number(1, 77));
}

TEST_CASE("doubles and what is no float") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  const double values[2] = {0.1, -3.0};
  std::string bytes =
      file_of("{" + entry("x", "[2]", 0, 16, "F64") + "," + entry("ids", "[3]", 16, 40, "I64") +
                  "," + entry("mask", "[2,2]", 40, 44, "BOOL") + "," +
                  entry("nibbles", "[2,3]", 44, 47, "F4") + "}   ",
              47);
  std::memcpy(bytes.data() + bytes.size() - 47, values, sizeof values);
  put(path, bytes);
  const Reader reader(path);
  double read[2];
  reader.read(reader.tensors()[0], 0, 2, read);
  CHECK(read[0] == 0.1);
  CHECK(read[1] == -3.0);
  CHECK(reader.tensors()[1].dtype == Dtype::other);
  CHECK(reader.tensors()[1].dtype_name == "I64");
  try {
    reader.read(reader.tensors()[1], 0, 1, read);
    FAIL("integers are not read");
  } catch (const Error& error) {
    has(error.message(), "'ids' are I64");
  }
}

TEST_CASE("a file without tensors is a file") {
  const Folder folder;
  put(folder / "w.safetensors", file_of("{}", 0));
  CHECK(Reader(folder / "w.safetensors").tensors().empty());
  weights::write(folder / "v.safetensors", {}, fill_numbers, {Dtype::f32, {{"a", "b"}}});
  CHECK(Reader(folder / "v.safetensors").tensors().empty());
}

TEST_CASE("headers that are cut off, too long, or no JSON") {
  has(error_of(""), "the file has 0 bytes");
  has(error_of("1234567"), "the file has 7 bytes");
  has(error_of(std::string(8, '\xff')), "the header would have 18446744073709551615 bytes");
  has(error_of(std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00", 10)), "nothing is unpickled");
  has(error_of(std::string("\x80\x02}q\x00(X\x01\x00\x00\x00", 11)), "nothing is unpickled");
  // A header of 640 bytes begins as a pickle of protocol 2 does.
  has(error_of(std::string("\x80\x02\x00\x00\x00\x00\x00\x00", 8) + std::string(640, ' ')),
      "not JSON");
  std::string long_header(16, '\0');
  long_header[4] = 1;  // 2^32 bytes
  has(error_of(long_header), "at most 100000000 are read");
  std::string cut = file_of("{" + entry("a", "[2]", 0, 8) + "}", 8);
  has(error_of(cut.substr(0, 20)), "but only 12 follow");
  has(error_of(cut.substr(0, cut.size() - 1)), "tensor 'a' ends at byte 8 of 7");
  has(error_of(cut + "x"), "1 bytes follow the last tensor");
  has(error_of_header(""), "not JSON");
  has(error_of_header("{"), "not JSON");
  has(error_of_header("PK\x03\x04"), "not JSON");
  has(error_of_header("{} {}"), "not JSON");
  has(error_of_header("{\"a\xff\":1}"), "not JSON in UTF-8");
  has(error_of_header("[]"), "has an array");
  has(error_of_header("3"), "has a number");
  has(error_of_header("\"text\""), "has a string");
  has(error_of_header("null"), "has a null");
}

TEST_CASE("deep nesting is refused where it begins") {
  has(error_of_header(std::string(5'000'000, '[')), "has an array");
  std::string deep;
  for (int i = 0; i < 500'000; ++i) deep += "{\"a\":";
  has(error_of_header(deep), "the unknown key 'a' in tensor 'a'");
  has(error_of_header(R"({"a":{"shape":{"a":)" + deep), "has an object in tensor 'a'");
  has(error_of_header(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})"),
      "has an array in tensor 'a'");
}

TEST_CASE("tensors that are described wrongly") {
  has(error_of_header(R"({"a":1})"), "has a number in tensor 'a'");
  has(error_of_header(R"({"a":{}})"), "has too few keys in tensor 'a'");
  has(error_of_header(R"({"a":{"dtype":"F32","shape":[2]}})", 8), "too few keys");
  has(error_of_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8),
      "too few keys");
  has(error_of_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}})", 8),
      "more than two data_offsets");
  has(error_of_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
      "the key 'dtype' twice in tensor 'a'");
  has(error_of_header(R"({"a":{"type":"F32","shape":[2],"data_offsets":[0,8]}})", 8),
      "the unknown key 'type' in tensor 'a'");
  has(error_of_header("{" + entry("a", "[2]", 0, 8, "F33") + "}", 8), "the unknown dtype 'F33'");
  has(error_of_header(R"({"a":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8), "has a number");
  has(error_of_header("{" + entry("a", "[-2]", 0, 8) + "}", 8), "a negative number in tensor 'a'");
  has(error_of_header("{" + entry("a", "[2.0]", 0, 8) + "}", 8), "not a whole number");
  has(error_of_header("{" + entry("a", "[2e0]", 0, 8) + "}", 8), "not a whole number");
  has(error_of_header("{" + entry("a", "[true]", 0, 8) + "}", 8), "a boolean in tensor 'a'");
  has(error_of_header("{" + entry("a", "[null]", 0, 8) + "}", 8), "a null in tensor 'a'");
  has(error_of_header("{" + entry("a", "[\"2\"]", 0, 8) + "}", 8), "a string in tensor 'a'");
  has(error_of_header("{" + entry("a", "[9223372036854775808]", 0, 8) + "}", 8), "above 2^63 - 1");
  has(error_of_header("{" + entry("a", "[18446744073709551616]", 0, 8) + "}", 8),
      "not a whole number");
  has(error_of_header(R"({"__metadata__":{"a":1}})"), "has a number in __metadata__");
  has(error_of_header(R"({"__metadata__":{"a":{"b":"c"}}})"), "has an object in __metadata__");
  std::string shape = "[1";
  for (int i = 0; i < 32; ++i) shape += ",1";
  has(error_of_header("{" + entry("a", shape + "]", 0, 4) + "}", 4), "more than 32 dimensions");
}

TEST_CASE("sizes and places that do not fit") {
  has(error_of_header("{" + entry("a", "[3]", 0, 8) + "}", 8),
      "tensor 'a' of dtype F32 has 3 values but data_offsets 0 to 8");
  has(error_of_header("{" + entry("a", "[2]", 8, 0) + "}", 8), "data_offsets 8 to 0");
  has(error_of_header("{" + entry("a", "[3]", 0, 2, "F4") + "}", 2), "data_offsets 0 to 2");
  // The products overflow: to 0 in 64 bits, and to 8 bytes.
  has(error_of_header("{" + entry("a", "[4294967296,4294967296]", 0, 0) + "}", 0),
      "the shape of tensor 'a' is too large");
  has(error_of_header("{" + entry("a", "[4611686018427387906]", 0, 8) + "}", 8), "too large");
  has(error_of_header("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 4, 12) + "}", 12),
      "tensor 'b' begins at byte 4, within the tensor that ends at 8");
  has(error_of_header("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 0, 8) + "}", 8),
      "begins at byte 0, within the tensor that ends at 8");
  has(error_of_header("{" + entry("a", "[2]", 0, 8) + "," + entry("b", "[2]", 12, 20) + "}", 20),
      "leaving a gap after the one that ends at 8");
  has(error_of_header("{" + entry("a", "[2]", 8, 16) + "}", 16), "leaving a gap");
  has(error_of_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[9223372036854775800,)"
                      R"(9223372036854775807]}})",
                      8),
      "data_offsets 9223372036854775800 to 9223372036854775807");
}

TEST_CASE("names that occur twice or cannot be shown") {
  has(error_of_header("{" + entry("a", "[2]", 0, 8) + "," + entry("a", "[2]", 8, 16) + "}", 16),
      "has tensor 'a' twice");
  has(error_of_header("{" + entry("", "[2]", 0, 8) + "}", 8), "'' cannot be the name");
  has(error_of_header("{" + entry("a\\nb", "[2]", 0, 8) + "}", 8), "'a?b' cannot be the name");
  has(error_of_header("{" + entry("\\u001b[31m", "[2]", 0, 8) + "}", 8), "'?[31m' cannot be");
  has(error_of_header("{" + entry("a\\u0000", "[2]", 0, 8) + "}", 8), "'a?' cannot be");
  has(error_of_header("{" + entry(std::string(1025, 'n'), "[2]", 0, 8) + "}", 8),
      "nnn...' cannot be the name");
  has(error_of_header("{" + entry("\\ud800", "[2]", 0, 8) + "}", 8), "not JSON");
}

TEST_CASE("paths that are no files") {
  const Folder folder;
  has(error_of_path(folder / "missing.safetensors"), "no such file of weights");
  has(error_of_path(folder / "missing.safetensors.index.json"), "no such file of weights");
  has(error_of_path(folder.path.string()), "the folder has no .safetensors file");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  has(error_of_path(folder / "pipe"), "a pipe is not a file of weights");
  CHECK_THROWS_AS(Reader(std::string("a\0b", 3)), Error);
}

TEST_CASE("shards are joined by an index, or by their folder") {
  const Folder folder;
  weights::write(folder / "model-00001-of-00002.safetensors", {{"a", {3}}, {"b", {4}}},
                 fill_numbers);
  weights::write(folder / "model-00002-of-00002.safetensors", {{"c", {2, 5}}}, fill_numbers);
  const auto names = [](const Reader& reader) {
    std::string text;
    for (const Tensor& tensor : reader.tensors())
      text += tensor.name + std::to_string(tensor.file) + " ";
    return text;
  };
  CHECK(names(Reader(folder.path.string())) == "a0 b0 c1 ");
  const std::string index = folder / "model.safetensors.index.json";
  put(index, R"({"metadata":{"total_size":68,"x":[{"y":null}]},"weight_map":{
    "c":"model-00002-of-00002.safetensors","a":"model-00001-of-00002.safetensors",
    "b":"model-00001-of-00002.safetensors"}})");
  const Reader reader(index);
  CHECK(names(reader) == "a0 b0 c1 ");
  double values[10];
  reader.read(reader.tensors()[2], 0, 10, values);
  CHECK(values[9] == number(0, 9));
  CHECK(names(Reader(folder.path.string())) == "a0 b0 c1 ");

  const auto error_of_index = [&](const std::string& text) {
    put(index, text);
    return error_of_path(index);
  };
  has(error_of_index("{}"), "no weight_map");
  has(error_of_index("{"), "not JSON");
  has(error_of_index("[]"), "has an array");
  has(error_of_index(R"({"weight_map":{"a":1}})"), "has a number");
  has(error_of_index(R"({"weight_map":{"a":["b"]}})"), "has an array");
  has(error_of_index(R"({"weight_map":{},"weight_map":{}})"), "weight_map twice");
  has(error_of_index(R"({"weight_map":{"a":"x","a":"x"}})"), "tensor 'a' twice");
  for (const char* name : {"../w.safetensors", "/etc/passwd", "", ".", "..", "a\\\\b", "a\\u0000b"})
    has(error_of_index(R"({"weight_map":{"a":")" + std::string(name) + "\"}}"),
        "not the name of a file beside it");
  has(error_of_index(R"({"weight_map":{"a\u000a":"x"}})"), "cannot be the name");
  put(index, R"({"weight_map":{"d":"model-00001-of-00002.safetensors"}})");
  has(error_of_path(index), "tensor 'd' is not in 'model-00001-of-00002.safetensors'");
  put(index, R"({"metadata":)" + std::string(100'000, '['));
  has(error_of_path(index), "has an array");
  fs::remove(index);
  weights::write(folder / "model-00003.safetensors", {{"a", {3}}}, fill_numbers);
  CHECK_THROWS_WITH_AS(Reader(folder.path.string()), doctest::Contains("tensor 'a' is also in '"),
                       Error);
}

TEST_CASE("a file that becomes shorter is noticed") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  weights::write(path, {{"a", {1000}}}, fill_numbers);
  const Reader reader(path);
  fs::resize_file(path, 500);
  std::vector<double> values(1000);
  CHECK_THROWS_WITH_AS(reader.read(reader.tensors()[0], 0, 1000, values.data()),
                       doctest::Contains("the file ends at its byte 500"), Error);
}

TEST_CASE("a write that fails leaves nothing behind") {
  const Folder folder;
  const std::string path = folder / "w.safetensors";
  put(path, "old");
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder.path), fs::directory_iterator());
  };
  const auto throwing = [](std::size_t, std::int64_t, std::int64_t, float*) {
    throw std::runtime_error("no values");
  };
  CHECK_THROWS_AS(weights::write(path, {{"a", {3}}}, throwing), std::runtime_error);
  CHECK(files() == 1);
  CHECK(fs::file_size(path) == 3);
  const auto refused = [&](const std::vector<weights::Outline>& tensors, const char* why) {
    CHECK_THROWS_WITH_AS(weights::write(path, tensors, fill_numbers), doctest::Contains(why),
                         Error);
  };
  refused({{"a", {3}}, {"a", {3}}}, "'a' is not a free name");
  refused({{"__metadata__", {3}}}, "not a free name");
  refused({{"a\nb", {3}}}, "cannot be the name");
  refused({{"\xff", {3}}}, "not UTF-8");
  refused({{"a", {-3}}}, "too large");
  refused({{"a", {1LL << 40, 1LL << 40}}}, "too large");
  CHECK(files() == 1);
  try {
    weights::write(folder / "no/w.safetensors", {{"a", {3}}}, fill_numbers);
    FAIL("no such folder");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
  }
  if (fs::exists("/dev/full"))
    CHECK_THROWS_WITH_AS(weights::write("/dev/full", {{"a", {3}}}, fill_numbers),
                         doctest::Contains("No space left"), Error);
}
