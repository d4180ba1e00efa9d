#include "base/plugin.hpp"

extern "C" __attribute__((visibility("default"))) const ScalecalcPlugin* scalecalc_plugin() {
  static const ScalecalcPlugin table = {SCALECALC_PLUGIN_VERSION};
  return &table;
}
