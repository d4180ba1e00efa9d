/// Writes the files that the tests of `audit` read: right ones, wrong ones, hostile ones.
/// usage: audit_weights FOLDER
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "../audit/support.hpp"

namespace {

using namespace scalecalc;

void scale(Weights& weights, const std::string& name, double factor) {
  for (float& value : tensor_of(weights, name).values) value *= static_cast<float>(factor);
}

void put(const std::string& path, const std::string& header) {
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << header;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "shards");
  const auto file = [&](const char* name) { return (folder / name).string(); };

  const Weights right = planned_weights(small_model("gpt2"), "hf-gpt2", 1, "transformer.");
  store(right, file("right.safetensors"));
  store(right, file("right_bf16.safetensors"), weights::Dtype::bf16);
  store({right.begin(), right.begin() + 20}, file("shards/model-1.safetensors"));
  store({right.begin() + 20, right.end()}, file("shards/model-2.safetensors"));

  Weights planted = right;
  for (const char* layer : {"0", "1", "2"})
    scale(planted, std::string("transformer.h.") + layer + ".attn.c_proj.weight", std::sqrt(6.0));
  scale(planted, "transformer.h.1.attn.c_attn.weight", std::sqrt(2.0));
  tensor_of(planted, "transformer.h.2.ln_2.bias").values[3] = 0.25f;
  store(planted, file("planted.safetensors"));

  Weights wide = right;
  StoredTensor& wider = tensor_of(wide, "transformer.h.1.mlp.c_fc.weight");
  wider = {{32, 104}, std::vector<float>(32 * 104, 0.0f)};
  store(wide, file("wide.safetensors"));
  store({{"a.weight", {{2, 3}, {1, 2, 3, 4, 5, 6}}}}, file("unknown.safetensors"));
  store(right, file("truncated.safetensors"));
  std::filesystem::resize_file(file("truncated.safetensors"), 20'000);
  std::ofstream(file("huge.safetensors"), std::ios::binary) << "\xff\xff\xff\xff\xff\xff\xff\x7f{}";

  put(file("nested.safetensors"), std::string(100'000, '['));
  put(file("outside.safetensors"), R"({"a\"b":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})");
  return 0;
}
