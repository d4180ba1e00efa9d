#include "weights/exported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "weights/safetensors_header.hpp"

namespace scalecalc::weights {
namespace {

using Json = nlohmann::json;

constexpr char kExportedHint[] = "give a .pt2 file as torch.export.save writes it";
constexpr std::uint64_t most_list_bytes = 100'000'000;
constexpr int deepest_list = 16;

/// torch._export.serde.schema.ScalarType.
struct ScalarType {
  int number, bits;
  Dtype dtype;
  const char* name;
};
constexpr ScalarType scalar_types[] = {
    {1, 8, Dtype::other, "U8"},   {2, 8, Dtype::other, "I8"},   {3, 16, Dtype::other, "I16"},
    {4, 32, Dtype::other, "I32"}, {5, 64, Dtype::other, "I64"}, {6, 16, Dtype::f16, "F16"},
    {7, 32, Dtype::f32, "F32"},   {8, 64, Dtype::f64, "F64"},   {12, 8, Dtype::other, "BOOL"},
    {13, 16, Dtype::bf16, "BF16"}};

/// One list of the archive.
class List {
 public:
  List(const ZipArchive& archive, const std::string& name, std::vector<Tensor>& tensors,
       Exported& out)
      : archive_(archive),
        name_(name),
        folder_(name.substr(0, name.rfind('/') + 1)),
        tensors_(tensors),
        out_(out) {}

  void read(const ZipArchive::Entry& entry) {
    const Json list = parse(archive_.text(entry, name_, most_list_bytes));
    const auto config = list.find("config");
    if (config == list.end() || !config->is_object()) fail("has no config");
    for (const auto& [tensor, about] : config->items()) add(tensor, about);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, base::shortened(name_) + " " + what,
                base::shortened(archive_.path()), kExportedHint);
  }

  Json parse(const std::string& text) const {
    int depth = 0;
    const auto limit = [&](int nested, Json::parse_event_t, Json&) {
      depth = std::max(depth, nested);
      return nested <= deepest_list;
    };
    Json list = Json::parse(text, limit, false);
    if (list.is_discarded() || !list.is_object() || depth > deepest_list)
      fail("is no list of tensors");
    return list;
  }

  std::int64_t integer(const Json& json, const std::string& tensor) const {
    const auto found = json.is_object() ? json.find("as_int") : json.end();
    if (found == json.end() || !found->is_number_integer() || *found < 0 ||
        *found > std::numeric_limits<std::int64_t>::max())
      fail("has no fixed sizes of '" + base::shortened(tensor) + "'");
    return found->get<std::int64_t>();
  }

  std::vector<std::int64_t> integers(const Json& meta, const char* key,
                                     const std::string& tensor) const {
    const auto list = meta.find(key);
    if (list == meta.end() || !list->is_array() || list->size() > Limits::dimensions)
      fail(fmt::format("has no {} of '{}'", key, base::shortened(tensor)));
    std::vector<std::int64_t> numbers;
    for (const Json& one : *list) numbers.push_back(integer(one, tensor));
    return numbers;
  }

  void add(const std::string& name, const Json& about) {
    check_name(name, archive_.path());
    const bool is_known = about.is_object() && about.contains("path_name") &&
                          about["path_name"].is_string() && about.contains("use_pickle") &&
                          about["use_pickle"].is_boolean();
    if (!is_known) fail("says nothing of '" + base::shortened(name) + "'");
    const Json& meta = about.contains("tensor_meta") ? about["tensor_meta"] : Json();
    if (about["use_pickle"].get<bool>() || !meta.is_object()) {
      out_.pickled.push_back(name);
      return;
    }
    const std::string path = folder_ + about["path_name"].get<std::string>();
    const auto [before, is_new] = first_.emplace(path, name);
    if (!is_new) {
      out_.tied.emplace(name, before->second);
      return;
    }
    tensors_.push_back(tensor(name, path, meta));
    if (tensors_.size() > Limits::tensors)
      fail(fmt::format("has more than {} tensors", Limits::tensors));
  }

  Tensor tensor(const std::string& name, const std::string& path, const Json& meta) const {
    const ZipArchive::Entry* entry = archive_.find(path);
    if (entry == nullptr)
      fail("names '" + base::shortened(path) + "', which the archive does not have");
    const auto type = std::find_if(std::begin(scalar_types), std::end(scalar_types),
                                   [&](const ScalarType& known) {
                                     return meta.contains("dtype") && meta["dtype"] == known.number;
                                   });
    if (type == std::end(scalar_types))
      fail("has an unknown dtype of '" + base::shortened(name) + "'");
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = type->dtype;
    tensor.dtype_name = type->name;
    tensor.shape = integers(meta, "sizes", name);
    tensor.elements = count_elements(tensor.shape, type->bits, name, archive_.path());
    const bool starts =
        meta.contains("storage_offset") && integer(meta["storage_offset"], name) == 0;
    if (!starts || !is_contiguous(tensor.shape, integers(meta, "strides", name)))
      tensor.dtype = Dtype::other;  // a part of another, or turned: its values are not in order
    tensor.begin = entry->begin;
    tensor.end = entry->begin + entry->size;
    const auto bytes =
        static_cast<std::uint64_t>(tensor.elements) * static_cast<unsigned>(type->bits / 8);
    if (tensor.dtype != Dtype::other && entry->size != bytes)
      fail(fmt::format("says that '{}' has {} bytes, and they are {}", base::shortened(name), bytes,
                       entry->size));
    return tensor;
  }

  /// Whether values lie row by row without gaps.
  static bool is_contiguous(const std::vector<std::int64_t>& sizes,
                            const std::vector<std::int64_t>& strides) {
    std::int64_t due = 1;
    if (sizes.size() != strides.size()) return false;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (sizes[i] != 1 && strides[i] != due) return false;
      due *= sizes[i];
    }
    return true;
  }

  const ZipArchive& archive_;
  const std::string name_, folder_;
  std::vector<Tensor>& tensors_;
  Exported& out_;
  std::map<std::string, std::string> first_;  ///< by entry
};

}  // namespace

bool is_exported(const std::string& path) {
  return path.ends_with(".pt2");
}

std::string root_folder(const ZipArchive& archive) {
  if (archive.entries().empty()) return {};
  const std::string& first = archive.entries().begin()->first;
  const std::string folder = first.substr(0, first.find('/') + 1);
  const bool is_shared =
      std::all_of(archive.entries().begin(), archive.entries().end(),
                  [&](const auto& entry) { return entry.first.starts_with(folder); });
  return is_shared ? folder : std::string();
}

Exported exported_tensors(const ZipArchive& archive) {
  Exported all;
  const std::string data = root_folder(archive) + "data/";
  for (const auto& [name, entry] : archive.entries()) {
    if (!name.ends_with("_config.json")) continue;
    if (name.starts_with(data + "weights/")) List(archive, name, all.weights, all).read(entry);
    if (name.starts_with(data + "constants/")) List(archive, name, all.constants, all).read(entry);
  }
  for (std::vector<Tensor>* tensors : {&all.weights, &all.constants})
    std::stable_sort(tensors->begin(), tensors->end(),
                     [](const Tensor& a, const Tensor& b) { return a.begin < b.begin; });
  return all;
}

}  // namespace scalecalc::weights
