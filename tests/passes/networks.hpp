#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "scalecalc/network.hpp"

/// Small layers and networks written out by hand, for the tests of the tensor room.
namespace scalecalc::passes {

inline Linear dense(const std::string& path, std::int64_t fan_in, std::int64_t fan_out) {
  Linear layer;
  layer.path = path;
  layer.fan_in = fan_in;
  layer.fan_out = fan_out;
  layer.std = 1.0 / std::sqrt(static_cast<double>(fan_in));
  return layer;
}

inline Attention attention(const std::string& path, std::int64_t width, std::int64_t heads,
                           std::int64_t kv_heads) {
  Attention layer;
  layer.path = path;
  layer.heads = heads;
  layer.kv_heads = kv_heads;
  layer.head_width = width / heads;
  layer.scale = 1.0 / std::sqrt(static_cast<double>(layer.head_width));
  layer.q = dense(path + ".q", width, width);
  layer.k = dense(path + ".k", width, kv_heads * layer.head_width);
  layer.v = dense(path + ".v", width, kv_heads * layer.head_width);
  layer.o = dense(path + ".o", width, width);
  return layer;
}

inline Conv2d conv(const std::string& path, std::int64_t in, std::int64_t out, std::int64_t kernel,
                   std::int64_t height, std::int64_t width) {
  Conv2d layer;
  layer.path = path;
  layer.in_channels = in;
  layer.out_channels = out;
  layer.kernel = kernel;
  layer.height = height;
  layer.width = width;
  layer.weight = dense(path, kernel * kernel * in, out);
  return layer;
}

/// x' = skip x + branch * body(x).
inline Residual residual(const std::string& path, std::vector<Layer> body, double skip = 0.8,
                         double branch = 0.6) {
  Residual layer;
  layer.path = path;
  layer.skip = skip;
  layer.branch = branch;
  layer.body = std::move(body);
  return layer;
}

/// Gaussian tokens through these layers, then a head from `width` features.
inline Network network_of(std::vector<Layer> layers, std::int64_t width, std::int64_t sequence = 4,
                          std::int64_t batch = 2, std::int64_t classes = 3) {
  Network network;
  network.features = width;
  network.sequence = sequence;
  network.batch = batch;
  network.classes = classes;
  network.input_cross = 0.3;
  network.layers = std::move(layers);
  network.layers.push_back({dense("head", width, classes)});
  return network;
}

}  // namespace scalecalc::passes
