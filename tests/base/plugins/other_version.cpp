#include "base/plugin.hpp"

extern "C" __attribute__((visibility("default"))) const ScalecalcPlugin* scalecalc_plugin() {
  static const ScalecalcPlugin table = {"0.0.7-cafecafe"};
  return &table;
}
