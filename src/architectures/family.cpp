#include "architectures/family.hpp"

#include <toml++/toml.h>
#include <algorithm>

#include "base/text.hpp"
#include "network/layer_spec.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::architectures {
namespace {

using Items = std::vector<std::pair<std::string, const toml::node*>>;

/// In the order of the file, which tables of toml++ do not keep.
Items in_order(const toml::table& table) {
  Items items;
  for (const auto& [key, node] : table) items.emplace_back(std::string(key.str()), &node);
  std::sort(items.begin(), items.end(), [](const auto& a, const auto& b) {
    const toml::source_position x = a.second->source().begin, y = b.second->source().begin;
    return x.line != y.line ? x.line < y.line : x.column < y.column;
  });
  return items;
}

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Family read(const toml::table& root) {
    Family family;
    family.model_type = name_;
    for (const auto& [key, node] : in_order(root)) {
      if (key == "library") {
        family.library = text(*node, key);
      } else if (key == "why_no_model") {
        family.why_no_model = text(*node, key);
      } else if (key == "classes") {
        for (const toml::node& item : list(*node, key)) family.classes.push_back(text(item, key));
      } else if (key == "config") {
        family.defaults = defaults(table(*node, key));
      } else if (key == "aliases") {
        for (const auto& [from, to] : in_order(table(*node, key)))
          family.aliases[from] = text(*to, from);
      } else if (key == "draws") {
        for (const auto& [kind, draw] : in_order(table(*node, key)))
          family.draws[kind] = parse_entry("draw ~ " + text(*draw, kind), where(kind)).draws;
      } else if (key == "modules") {
        for (const auto& [signature, module] : in_order(table(*node, key)))
          add_module(family, signature, table(*module, signature));
      } else if (key == "layers") {
        for (const auto& [signature, layers] : in_order(table(*node, key)))
          add_list(family, signature, list(*layers, signature));
      } else if (key == "model") {
        for (const auto& [section, fields] : in_order(table(*node, key)))
          for (const auto& [field, value] : in_order(table(*fields, section)))
            family.model.emplace_back(section + "." + field,
                                      Expression::parse(text(*value, field), where(field)));
      } else if (key == "towers") {
        for (const auto& [name, call] : in_order(table(*node, key)))
          family.towers.push_back(tower(name, text(*call, name)));
      } else if (key == "variants") {
        for (const auto& [name, draws] : in_order(table(*node, key)))
          family.variants.push_back(variant(name, table(*draws, name)));
      } else if (key == "refusals" || key == "remarks" || key == "undescribed") {
        std::vector<Conditional>& into = key == "remarks"    ? family.remarks
                                         : key == "refusals" ? family.refusals
                                                             : family.undescribed;
        for (const auto& [said, condition] : in_order(table(*node, key)))
          into.push_back({Expression::parse(text(*condition, said), where(said)), said});
      } else {
        fail("unknown section", key);
      }
    }
    if (!family.lists.empty() && family.lists.count("model") == 0)
      fail("there is no list 'model'", "layers");
    return family;
  }

 private:
  std::string where(const std::string& key) const { return name_ + ": " + key; }
  [[noreturn]] void fail(const std::string& problem, const std::string& key) const {
    throw Error(ErrorKind::input, problem, where(key));
  }

  std::string text(const toml::node& node, const std::string& key) const {
    const auto* value = node.as_string();
    if (value == nullptr) fail("must be a text", key);
    return value->get();
  }
  const toml::table& table(const toml::node& node, const std::string& key) const {
    if (!node.is_table()) fail("must be a table", key);
    return *node.as_table();
  }
  const toml::array& list(const toml::node& node, const std::string& key) const {
    if (!node.is_array()) fail("must be a list", key);
    return *node.as_array();
  }

  Value literal(const toml::node& node, const std::string& key) const {
    if (const auto* value = node.as_string()) return value->get();
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_boolean()) return value->get();
    Value items = Value::array();
    for (const toml::node& item : list(node, key)) items.push_back(literal(item, key));
    return items;
  }

  Defaults defaults(const toml::table& keys) const {
    Defaults all;
    for (const auto& [key, node] : in_order(keys)) {
      if (node->is_table()) {
        all.inner.emplace_back(key, defaults(*node->as_table()));
        continue;
      }
      Default one{key, literal(*node, key), std::nullopt};
      if (one.value.is_string()) {
        const std::string& said = one.value.get_ref<const std::string&>();
        if (said.starts_with("=")) one.expression = Expression::parse(said.substr(1), where(key));
      }
      all.keys.push_back(std::move(one));
    }
    return all;
  }

  /// "clip_text_model(text_config, projection_dim)".
  Tower tower(const std::string& name, const std::string& call) const {
    const Expression head = Expression::parse(call, where(name));
    std::vector<std::string> keys = arguments_of(head);
    if (keys.empty()) fail("a tower is model_type(config inside, keys handed over...)", name);
    Tower made{name, head.name(), keys.front(), {}};
    made.handed.assign(keys.begin() + 1, keys.end());
    return made;
  }

  Variant variant(const std::string& name, const toml::table& draws) const {
    Variant made{name, name, {}};
    for (const auto& [ending, draw] : in_order(draws)) {
      if (ending == "title")
        made.title = text(*draw, ending);
      else
        made.draws.emplace_back(ending, Expression::parse(text(*draw, ending), where(ending)));
    }
    return made;
  }

  /// "block(l, dense)": a name and its arguments.
  void add_module(Family& family, const std::string& signature, const toml::table& entries) const {
    const Expression head = Expression::parse(signature, where(signature));
    Module module{arguments_of(head), {}};
    for (const auto& [path, node] : in_order(entries)) {
      Entry entry{path_parts(path), {}};
      if (node->is_string()) {
        entry.alternatives.push_back(parse_entry(text(*node, path), where(path)));
      } else {
        for (const toml::node& item : list(*node, path))
          entry.alternatives.push_back(parse_entry(text(item, path), where(path)));
      }
      module.entries.push_back(std::move(entry));
    }
    if (!family.modules.emplace(head.name(), std::move(module)).second)
      fail("a module of this name exists", signature);
  }

  static std::vector<std::string> arguments_of(const Expression& head) {
    std::vector<std::string> names;
    for (const Expression& argument : head.operands()) names.push_back(argument.name());
    return names;
  }

  /// "stage(s)": a list of layers and its arguments.
  void add_list(Family& family, const std::string& signature, const toml::array& texts) const {
    const Expression head = Expression::parse(signature, where(signature));
    LayerTexts made{arguments_of(head), {}};
    for (const toml::node& item : texts) {
      LayerText layer = parse_layer_text(text(item, signature), where(signature));
      std::vector<PathPart> name = path_parts(layer.name);
      made.layers.push_back({std::move(layer), std::move(name)});
    }
    const std::vector<std::string>& types = layer_type_names();
    if (std::find(types.begin(), types.end(), head.name()) != types.end())
      fail("this is a type of layer", signature);
    if (!family.lists.emplace(head.name(), std::move(made)).second)
      fail("a list of this name exists", signature);
  }

  std::vector<PathPart> path_parts(const std::string& path) const {
    std::vector<PathPart> parts;
    std::size_t at = 0;
    for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{', at)) {
      const std::size_t close = path.find('}', open);
      if (close == std::string::npos) fail("'}' is missing", path);
      PathPart part{path.substr(at, open - at), path.substr(open + 1, close - open - 1), {}};
      const std::size_t colon = part.variable.find(':');
      if (colon != std::string::npos) {
        part.values = Expression::parse(part.variable.substr(colon + 1), where(path));
        part.variable.resize(colon);
      }
      parts.push_back(std::move(part));
      at = close + 1;
    }
    parts.push_back({path.substr(at), {}, {}});
    return parts;
  }

  std::string name_;
};

}  // namespace

Defaults::Defaults() = default;

Family parse_family(std::string_view toml, const std::string& name) {
  try {
    return Reader(name).read(toml::parse(toml));
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::input, std::string(error.description()), name);
  }
}

}  // namespace scalecalc::architectures
