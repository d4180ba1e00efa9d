#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Files of named tensors: 8 bytes of header length, a JSON header, the values of all tensors one
/// after the other, little-endian. Read and written in blocks; a file is never held in memory.
namespace scalecalc::weights {

/// What the values of a tensor are. Of `other` only the size is known: integers, booleans, 8-bit
/// floats.
enum class Dtype { f64, f32, f16, bf16, other };

struct Limits {
  static constexpr std::uint64_t header_bytes = 100'000'000;  ///< as the reference library has it
  static constexpr std::size_t tensors = 1'000'000;
  static constexpr std::size_t dimensions = 32;
  static constexpr std::size_t name_bytes = 1024;
};

struct Tensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::string dtype_name;            ///< as the file has it: "BF16"
  std::vector<std::int64_t> shape;   ///< empty: one value
  std::int64_t elements = 0;         ///< their product
  std::size_t file = 0;              ///< index of the shard
  std::uint64_t begin = 0, end = 0;  ///< bytes from the start of that file
};

/// An open file, or all files of a sharded model. Reading is safe from several threads.
class Reader {
 public:
  /// `path`: a .safetensors file; a graph with its weights (.pt2, weights/exported.hpp); an index
  /// (.json) whose weight_map names the files beside it; or a folder: its model.safetensors, else
  /// its index, else all its .safetensors. Every header is checked as a whole: dtypes, shapes,
  /// bytes that cover the file without gap or overlap, names that are printable and occur once.
  /// Throws Error(input) naming the file and the tensor.
  explicit Reader(const std::string& path);
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  /// In the order of their bytes, shard after shard.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<std::string>& files() const { return files_; }
  std::uint64_t bytes() const { return bytes_; }  ///< of all files

  /// Bytes `first` .. `first + count` of a tensor as they are in the file. Throws Error(input) when
  /// the file cannot be read any more.
  void read_bytes(const Tensor& tensor, std::uint64_t first, std::size_t count, void* out) const;
  /// Values `first` .. `first + count`, each exact in double. Throws Error(input) for Dtype::other.
  void read(const Tensor& tensor, std::int64_t first, std::int64_t count, double* out) const;

 private:
  struct File;
  void open(const std::string& path);
  void open_all(const std::vector<std::string>& paths);
  void open_exported(const std::string& path);
  void open_index(const std::string& path);
  void open_folder(const std::string& path);
  void check_names() const;

  std::vector<std::unique_ptr<File>> open_files_;
  std::vector<std::string> files_;
  std::vector<Tensor> tensors_;
  std::uint64_t bytes_ = 0;
};

/// Size of one value in bytes; 0 for Dtype::other.
std::size_t value_bytes(Dtype dtype);

struct Outline {
  std::string name;
  std::vector<std::int64_t> shape;
};

struct WriteOptions {
  Dtype dtype = Dtype::f32;                     ///< f32, f16 or bf16
  std::map<std::string, std::string> metadata;  ///< {"format": "pt"} for Hugging Face
};

/// Gives values `first` .. `first + count` of the tensor of that index; called in order, `first` a
/// multiple of 65536.
using Fill =
    std::function<void(std::size_t tensor, std::int64_t first, std::int64_t count, float* values)>;

/// Writes the tensors in the order given, block by block. The file appears complete or not at all.
/// Throws Error(input) for a name or a shape that no file may have, Error(fault) when the write
/// fails; what `fill` throws passes through.
void write(const std::string& path, const std::vector<Outline>& tensors, const Fill& fill,
           const WriteOptions& options = {});

}  // namespace scalecalc::weights
