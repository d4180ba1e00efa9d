#include "network/field_values.hpp"
#include "network/model_keys.hpp"

namespace scalecalc {
namespace {

/// The lines of a model file as they come, with the inner tables on one line each.
class Lines {
 public:
  void add(const ModelField& field, const std::string& value) {
    const std::size_t dot = field.key.find('.');
    const std::string table = dot == std::string::npos ? "" : field.key.substr(0, dot);
    const std::string key = field.key.substr(table.empty() ? 0 : dot + 1);
    if (table != table_ || field.section != section_) end_table();
    if (field.section != section_) text_ += (text_.empty() ? "[" : "\n[") + field.section + "]\n";
    section_ = field.section;
    if (table.empty()) {
      text_ += key + " = " + value + "\n";
    } else {
      text_ += (table == table_ ? ", " : table + " = { ") + key + " = " + value;
    }
    table_ = table;
  }
  std::string take() {
    end_table();
    return std::move(text_);
  }

 private:
  void end_table() {
    if (!table_.empty()) text_ += " }\n";
    table_.clear();
  }

  std::string text_, section_, table_;
};

}  // namespace

std::string model_text(const ModelSpec& spec) {
  Lines lines;
  for (const ModelField& field : model_fields()) {
    if (!field.belongs_to(spec.kind) || !field.is_written(spec)) continue;
    const std::string value = field_text(field.get(spec));
    if (!value.empty()) lines.add(field, value);
  }
  std::string text = lines.take() + write_names(spec);
  for (const LayerSpec& layer : spec.layer_list) text += write_layer(layer, "layer");
  return text;
}

}  // namespace scalecalc
