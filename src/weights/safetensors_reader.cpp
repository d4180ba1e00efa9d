#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "weights/exported.hpp"
#include "weights/half.hpp"
#include "weights/safetensors_header.hpp"

namespace scalecalc::weights {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are read as they are in the file");

namespace fs = std::filesystem;

constexpr std::uint64_t length_bytes = 8;
constexpr char weights_suffix[] = ".safetensors";
constexpr char index_suffix[] = ".index.json";
constexpr char kHint[] = "give the path of a .safetensors file, of its index, or of a folder";

[[noreturn]] void unreadable(const std::string& path, const std::string& why) {
  throw wrong_file(why, path, kHint);
}

bool ends_with(const std::string& text, const char* suffix) {
  return text.ends_with(suffix);
}

/// The files of a folder whose names end so, sorted.
std::vector<std::string> files_in(const std::string& folder, const char* suffix) {
  std::vector<std::string> found;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code))
    if (ends_with(entry->path().filename().string(), suffix)) found.push_back(entry->path());
  if (code) unreadable(folder, "cannot read the folder: " + code.message());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

struct Reader::File : base::InputFile {
  explicit File(const std::string& file_path)
      : InputFile(file_path, {"file of weights", kHint}), path(file_path), size(InputFile::size()) {
    ::posix_fadvise(descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  void read(std::uint64_t at, std::size_t count, void* out) const {
    auto* bytes = static_cast<char*>(out);
    while (count > 0) {
      const ssize_t got = ::pread(descriptor(), bytes, count, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) unreadable(path, std::string("cannot read the file: ") + std::strerror(errno));
      if (got == 0) unreadable(path, fmt::format("the file ends at its byte {}", at));
      bytes += got;
      at += static_cast<std::uint64_t>(got);
      count -= static_cast<std::size_t>(got);
    }
  }

  std::string text(std::uint64_t at, std::size_t count) const {
    std::string content(count, '\0');
    read(at, count, content.data());
    return content;
  }

  std::string path;
  std::uint64_t size = 0;
};

namespace {

/// The tensors of one file, their bytes counted from its start.
template <class File>
std::vector<Tensor> tensors_of(const File& file) {
  if (file.size < length_bytes)
    throw wrong_file(
        fmt::format("the file has {} bytes, fewer than the 8 of its header's length", file.size),
        file.path);
  std::uint64_t length = 0;
  file.read(0, length_bytes, &length);
  char begin[length_bytes];
  std::memcpy(begin, &length, length_bytes);
  // A header may well have 640 bytes, which a pickle begins with too.
  if (length > file.size - length_bytes && base::is_pickled({begin, length_bytes}))
    throw base::pickled_file(file.path);
  if (length > Limits::header_bytes)
    throw wrong_file(fmt::format("the header would have {} bytes; at most {} are read", length,
                                 Limits::header_bytes),
                     file.path, "is this a .safetensors file?");
  if (length > file.size - length_bytes)
    throw wrong_file(fmt::format("the header would have {} bytes, but only {} follow", length,
                                 file.size - length_bytes),
                     file.path, "the file is cut off, or it is no .safetensors file");
  const std::uint64_t data = length_bytes + length;
  std::vector<Tensor> tensors =
      parse_header(file.text(length_bytes, length), file.size - data, file.path);
  for (Tensor& tensor : tensors) {
    tensor.begin += data;
    tensor.end += data;
  }
  return tensors;
}

}  // namespace

Reader::Reader(const std::string& path) {
  std::error_code ignored;
  if (path.find('\0') == std::string::npos && fs::is_directory(path, ignored))
    open_folder(path);
  else if (ends_with(path, ".json"))
    open_index(path);
  else
    open(path);
  check_names();
}

Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

void Reader::open(const std::string& path) {
  if (is_exported(path)) return open_exported(path);
  open_files_.push_back(std::make_unique<File>(path));
  files_.push_back(path);
  const File& file = *open_files_.back();
  bytes_ += file.size;
  for (Tensor& tensor : tensors_of(file)) {
    tensor.file = files_.size() - 1;
    tensors_.push_back(std::move(tensor));
  }
  if (tensors_.size() > Limits::tensors)
    throw wrong_file(fmt::format("the files have more than {} tensors", Limits::tensors), path);
}

/// The weights beside a graph, without what the code makes anew.
void Reader::open_exported(const std::string& path) {
  const ZipArchive archive(path);
  Exported exported = exported_tensors(archive);
  if (!exported.pickled.empty())
    throw wrong_file("tensor '" + base::shortened(exported.pickled.front()) +
                         "' is pickled, and nothing is unpickled",
                     path, "save the graph again with plain weights");
  open_files_.push_back(std::make_unique<File>(path));
  files_.push_back(path);
  bytes_ += archive.bytes();
  tensors_ = std::move(exported.weights);
}

void Reader::open_all(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) open(path);
}

/// Every tensor must lie in the file that the index names.
void Reader::open_index(const std::string& path) {
  const File file(path);
  if (file.size > Limits::header_bytes)
    throw wrong_file(
        fmt::format("the index has {} bytes; at most {} are read", file.size, Limits::header_bytes),
        path);
  const auto shard_of = parse_index(file.text(0, file.size), path);
  const fs::path folder = fs::path(path).parent_path();
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : shard_of) shards.insert((folder / shard).string());
  open_all({shards.begin(), shards.end()});
  std::map<std::string, std::size_t> found;
  for (const Tensor& tensor : tensors_) found.emplace(tensor.name, tensor.file);
  for (const auto& [tensor, shard] : shard_of) {
    const auto at = found.find(tensor);
    if (at == found.end() || files_[at->second] != (folder / shard).string())
      throw wrong_file(fmt::format("tensor '{}' is not in '{}', where the index puts it",
                                   base::shortened(tensor), base::shortened(shard)),
                       path, "the index belongs to other files");
  }
}

void Reader::open_folder(const std::string& path) {
  const std::string whole = (fs::path(path) / "model.safetensors").string();
  std::error_code ignored;
  if (fs::exists(whole, ignored)) return open(whole);
  const std::vector<std::string> indices =
      files_in(path, (std::string(weights_suffix) + index_suffix).c_str());
  if (indices.size() > 1)
    throw wrong_file("the folder has several indices", path,
                     "name one: " + base::shortened(indices[0]));
  if (indices.size() == 1) return open_index(indices[0]);
  const std::vector<std::string> files = files_in(path, weights_suffix);
  if (files.empty()) unreadable(path, "the folder has no .safetensors file");
  open_all(files);
}

void Reader::check_names() const {
  std::map<std::string_view, std::size_t> found;
  for (const Tensor& tensor : tensors_) {
    const auto [at, added] = found.emplace(tensor.name, tensor.file);
    if (!added)
      throw wrong_file(fmt::format("tensor '{}' is also in '{}'", base::shortened(tensor.name),
                                   base::shortened(files_[at->second])),
                       files_[tensor.file], "the shards of one model have different tensors");
  }
}

void Reader::read_bytes(const Tensor& tensor, std::uint64_t first, std::size_t count,
                        void* out) const {
  open_files_[tensor.file]->read(tensor.begin + first, count, out);
}

void Reader::read(const Tensor& tensor, std::int64_t first, std::int64_t count, double* out) const {
  constexpr std::int64_t block = 4096;
  std::array<double, block> raw;
  const std::size_t size = value_bytes(tensor.dtype);
  if (size == 0)
    throw wrong_file(fmt::format("the values of tensor '{}' are {}, which are not read",
                                 base::shortened(tensor.name), tensor.dtype_name),
                     files_[tensor.file], "F64, F32, F16 and BF16 are");
  const auto* floats = reinterpret_cast<const float*>(raw.data());
  const auto* halves = reinterpret_cast<const std::uint16_t*>(raw.data());
  for (std::int64_t at = 0; at < count; at += block) {
    const auto values = static_cast<std::size_t>(std::min(block, count - at));
    read_bytes(tensor, static_cast<std::uint64_t>(first + at) * size, values * size, raw.data());
    for (std::size_t i = 0; i < values; ++i)
      out[at + static_cast<std::int64_t>(i)] =
          tensor.dtype == Dtype::f64   ? raw[i]
          : tensor.dtype == Dtype::f32 ? static_cast<double>(floats[i])
          : tensor.dtype == Dtype::f16 ? static_cast<double>(float_from_half(halves[i]))
                                       : static_cast<double>(float_from_bfloat(halves[i]));
  }
}

std::size_t value_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 8;
    case Dtype::f32: return 4;
    case Dtype::f16:
    case Dtype::bf16: return 2;
    case Dtype::other: break;
  }
  return 0;
}

}  // namespace scalecalc::weights
