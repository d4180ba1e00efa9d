#include "weights/safetensors_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/text.hpp"

namespace scalecalc::weights {
namespace {

using Json = nlohmann::json;

struct DtypeName {
  const char* name;
  Dtype dtype;
  int bits;
};
constexpr DtypeName dtypes[] = {
    {"F64", Dtype::f64, 64},      {"F32", Dtype::f32, 32},      {"F16", Dtype::f16, 16},
    {"BF16", Dtype::bf16, 16},    {"I64", Dtype::other, 64},    {"I32", Dtype::other, 32},
    {"I16", Dtype::other, 16},    {"I8", Dtype::other, 8},      {"U64", Dtype::other, 64},
    {"U32", Dtype::other, 32},    {"U16", Dtype::other, 16},    {"U8", Dtype::other, 8},
    {"BOOL", Dtype::other, 8},    {"F8_E4M3", Dtype::other, 8}, {"F8_E5M2", Dtype::other, 8},
    {"F8_E8M0", Dtype::other, 8}, {"F6_E2M3", Dtype::other, 6}, {"F6_E3M2", Dtype::other, 6},
    {"F4", Dtype::other, 4},      {"C64", Dtype::other, 64}};

std::string in_quotes(const std::string& name) {
  return "'" + base::shortened(name) + "'";
}

/// What both kinds of files have in common: a root object two or three levels deep, read without
/// building a tree, so that a hostile text takes no more memory than its own length.
class Events : public nlohmann::json_sax<Json> {
 public:
  explicit Events(std::string path, const char* what) : path_(std::move(path)), what_(what) {}

  bool null() override { return refuse("a null"); }
  bool boolean(bool) override { return refuse("a boolean"); }
  bool number_float(double, const std::string&) override {
    return refuse("a number that is not a whole number from 0 to 2^63 - 1");
  }
  bool number_integer(std::int64_t) override { return refuse("a negative number"); }
  bool number_unsigned(std::uint64_t) override { return refuse("a number"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    throw wrong_file(fmt::format("{} is not JSON in UTF-8 (at its byte {})", what_, position),
                     path_, "write the file again");
  }

 protected:
  [[noreturn]] bool refuse(const std::string& found) const {
    throw wrong_file(fmt::format("{} has {} {}", what_, found, place()), path_, expected());
  }
  virtual std::string place() const = 0;
  virtual std::string expected() const = 0;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const char* what_;
};

/// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {...}}
class Header : public Events {
 public:
  explicit Header(const std::string& path) : Events(path, "the header") {}
  std::vector<Tensor> take() { return std::move(tensors_); }

  bool start_object(std::size_t) override {
    if (level_ == Level::outside) {
      level_ = Level::root;
    } else if (level_ == Level::root && name_) {
      level_ = *name_ == "__metadata__" ? Level::metadata : Level::tensor;
      if (level_ == Level::tensor) start_tensor();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(std::string& text) override {
    if (level_ == Level::root) {
      name_ = text;
      if (!names_.insert(text).second)
        throw wrong_file(fmt::format("the header has tensor {} twice", in_quotes(text)), path());
    } else if (level_ == Level::tensor) {
      field_ = text == "dtype"          ? Field::dtype
               : text == "shape"        ? Field::shape
               : text == "data_offsets" ? Field::offsets
                                        : Field::none;
      if (field_ == Field::none) refuse("the unknown key " + in_quotes(text));
      if (given_[static_cast<int>(field_)]) refuse("the key " + in_quotes(text) + " twice");
      given_[static_cast<int>(field_)] = true;
    }
    return true;
  }

  bool string(std::string& text) override {
    if (level_ == Level::metadata) return true;
    if (level_ != Level::tensor || field_ != Field::dtype) refuse("a string");
    const auto* found = std::find_if(std::begin(dtypes), std::end(dtypes),
                                     [&](const DtypeName& dtype) { return dtype.name == text; });
    if (found == std::end(dtypes)) refuse("the unknown dtype " + in_quotes(text));
    tensors_.back().dtype = found->dtype;
    tensors_.back().dtype_name = text;
    bits_ = found->bits;
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ != Level::tensor || (field_ != Field::shape && field_ != Field::offsets))
      refuse("an array");
    level_ = Level::array;
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (level_ != Level::array) refuse("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      refuse("a number above 2^63 - 1");
    std::vector<std::int64_t>& list = field_ == Field::shape ? tensors_.back().shape : offsets_;
    if (list.size() == (field_ == Field::shape ? Limits::dimensions : 2))
      refuse(field_ == Field::shape ? fmt::format("more than {} dimensions", Limits::dimensions)
                                    : std::string("more than two data_offsets"));
    list.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  /// nlohmann-json reports 0 and above as unsigned.
  bool number_integer(std::int64_t) override { return refuse("a negative number"); }

  bool end_array() override {
    level_ = Level::tensor;
    return true;
  }

  bool end_object() override {
    if (level_ == Level::tensor) finish_tensor();
    level_ = level_ == Level::root ? Level::outside : Level::root;
    return true;
  }

 private:
  enum class Level { outside, root, metadata, tensor, array };
  enum class Field { dtype, shape, offsets, none };

  void start_tensor() {
    check_name(*name_, path());
    if (tensors_.size() == Limits::tensors)
      throw wrong_file(fmt::format("the header has more than {} tensors", Limits::tensors), path());
    tensors_.emplace_back();
    tensors_.back().name = *name_;
    offsets_.clear();
    std::fill(std::begin(given_), std::end(given_), false);
  }

  void finish_tensor() {
    Tensor& tensor = tensors_.back();
    if (!given_[0] || !given_[1] || !given_[2] || offsets_.size() != 2) refuse("too few keys");
    tensor.elements = count_elements(tensor.shape, bits_, tensor.name, path());
    tensor.begin = static_cast<std::uint64_t>(offsets_[0]);
    tensor.end = static_cast<std::uint64_t>(offsets_[1]);
    const auto bits = static_cast<std::uint64_t>(tensor.elements) * static_cast<unsigned>(bits_);
    if (tensor.end >= tensor.begin && tensor.end - tensor.begin == bits / 8 && bits % 8 == 0)
      return;
    throw wrong_file(fmt::format("tensor {} of dtype {} has {} values but data_offsets {} to {}",
                                 in_quotes(tensor.name), tensor.dtype_name, tensor.elements,
                                 tensor.begin, tensor.end),
                     path(), fmt::format("{} bytes would be right", bits / 8 + (bits % 8 != 0)));
  }

  std::string place() const override {
    if (level_ == Level::outside) return "where an object belongs";
    if (level_ == Level::metadata) return "in __metadata__";
    return name_ ? "in tensor " + in_quotes(*name_) : "at its beginning";
  }
  std::string expected() const override {
    if (level_ == Level::metadata) return "metadata are strings";
    return R"(a tensor is {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]})";
  }

  Level level_ = Level::outside;
  Field field_ = Field::none;
  std::optional<std::string> name_;
  std::set<std::string> names_;
  std::vector<Tensor> tensors_;
  std::vector<std::int64_t> offsets_;
  bool given_[3] = {};
  int bits_ = 0;
};

/// {"metadata": ..., "weight_map": {"name": "model-00001-of-00002.safetensors"}}
class Index : public Events {
 public:
  explicit Index(const std::string& path) : Events(path, "the index") {}
  std::map<std::string, std::string> take() { return std::move(map_); }
  bool found() const { return found_; }

  bool null() override { return ignored() || refuse("a null"); }
  bool boolean(bool) override { return ignored() || refuse("a boolean"); }
  bool number_float(double, const std::string&) override { return ignored() || refuse("a number"); }
  bool number_integer(std::int64_t) override { return ignored() || refuse("a number"); }
  bool number_unsigned(std::uint64_t) override { return ignored() || refuse("a number"); }
  bool start_array(std::size_t) override { return open("an array"); }
  bool end_array() override { return close(); }
  bool start_object(std::size_t) override {
    if (depth_ == 1 && key_ == "weight_map") {
      if (found_) refuse("weight_map twice");
      found_ = true;
    } else if (depth_ > 0) {
      return open("an object");
    }
    ++depth_;
    return true;
  }
  bool end_object() override { return close(); }

  bool key(std::string& text) override {
    if (depth_ == 1) key_ = text;
    if (in_map()) name_ = text;
    return true;
  }

  bool string(std::string& text) override {
    if (ignored()) return true;
    if (!in_map()) refuse("a string");
    check_name(name_, path());
    const bool plain = !text.empty() && text.find_first_of("/\\") == std::string::npos &&
                       text.find('\0') == std::string::npos && text != "." && text != "..";
    if (!plain)
      throw wrong_file(fmt::format("the index puts tensor {} into {}, which is not the name of a "
                                   "file beside it",
                                   in_quotes(name_), in_quotes(text)),
                       path(), "shards lie in the folder of their index");
    if (!map_.emplace(name_, text).second)
      throw wrong_file(fmt::format("the index has tensor {} twice", in_quotes(name_)), path());
    if (map_.size() > Limits::tensors)
      throw wrong_file(fmt::format("the index has more than {} tensors", Limits::tensors), path());
    return true;
  }

 private:
  static constexpr int most_depth = 64;

  bool in_map() const { return depth_ == 2 && key_ == "weight_map"; }
  bool ignored() const { return depth_ >= 1 && key_ != "weight_map"; }
  bool open(const char* what) {
    if (!ignored() || depth_ == most_depth) refuse(what);
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  std::string place() const override { return "where none belongs"; }
  std::string expected() const override {
    return R"(an index is {"weight_map": {"tensor": "file.safetensors"}})";
  }

  int depth_ = 0;
  bool found_ = false;
  std::string key_, name_;
  std::map<std::string, std::string> map_;
};

/// Between tensors there is nothing, and none lies on another.
void check_cover(const std::vector<Tensor>& tensors, std::uint64_t data_bytes,
                 const std::string& path) {
  std::uint64_t at = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.end > data_bytes)
      throw wrong_file(fmt::format("tensor {} ends at byte {} of {} that follow the header",
                                   in_quotes(tensor.name), tensor.end, data_bytes),
                       path, "the file is cut off or damaged");
    if (tensor.begin != at)
      throw wrong_file(
          fmt::format("tensor {} begins at byte {}, {} {}", in_quotes(tensor.name), tensor.begin,
                      tensor.begin < at ? "within the tensor that ends at"
                                        : "leaving a gap after the one that ends at",
                      at),
          path, "tensors follow one another");
    at = tensor.end;
  }
  if (at != data_bytes)
    throw wrong_file(fmt::format("{} bytes follow the last tensor", data_bytes - at), path,
                     "tensors fill the file");
}

}  // namespace

Error wrong_file(const std::string& message, const std::string& path, const std::string& hint) {
  return {ErrorKind::input, message, base::shortened(path),
          hint.empty() ? "give a .safetensors file as its library writes them" : hint};
}

void check_name(const std::string& name, const std::string& path) {
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (!name.empty() && name.size() <= Limits::name_bytes && printable) return;
  throw wrong_file(
      fmt::format("{} cannot be the name of a tensor", in_quotes(name)), path,
      fmt::format("names have 1 to {} bytes and no control characters", Limits::name_bytes));
}

std::int64_t count_elements(const std::vector<std::int64_t>& shape, int bits,
                            const std::string& name, const std::string& path) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / bits;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && elements > most / size))
      throw wrong_file(fmt::format("the shape of tensor {} is too large", in_quotes(name)), path,
                       fmt::format("a tensor has at most {} such values", most));
    elements *= size;
  }
  return elements;
}

std::vector<Tensor> parse_header(std::string_view json, std::uint64_t data_bytes,
                                 const std::string& path) {
  Header header(path);
  Json::sax_parse(json.begin(), json.end(), &header);
  std::vector<Tensor> tensors = header.take();
  // Empty tensors share their position with the one that follows.
  std::stable_sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  check_cover(tensors, data_bytes, path);
  return tensors;
}

std::map<std::string, std::string> parse_index(std::string_view json, const std::string& path) {
  Index index(path);
  Json::sax_parse(json.begin(), json.end(), &index);
  if (!index.found())
    throw wrong_file("the index has no weight_map", path,
                     R"(an index is {"weight_map": {"tensor": "file.safetensors"}})");
  return index.take();
}

}  // namespace scalecalc::weights
