#include "network/layers/walk.hpp"

#include "network/layers/kinds.hpp"
#include "network/read_ahead.hpp"

namespace scalecalc {
namespace {

void visit(const LayerView& layer, PartVisitor& visitor) {
  std::visit([&](const auto* op) { visit_parts(*op, visitor); }, layer);
}

class Children : public PartVisitor {
 public:
  explicit Children(const std::function<void(const LayerView&, Held)>& found) : found_(found) {}
  void child(const LayerView& layer, Held held) override { found_(layer, held); }
  void parameter(const std::string&, std::size_t, const char*, const ParameterInfo&) override {}

 private:
  const std::function<void(const LayerView&, Held)>& found_;
};

class Entries : public PartVisitor {
 public:
  void child(const LayerView& layer, Held held) override {
    if (held == Held::in_list) ++count;
    visit(layer, *this);
  }
  void parameter(const std::string&, std::size_t, const char*, const ParameterInfo&) override {
    ++count;
  }

  double count = 0;
};

class Parameters : public PartVisitor {
 public:
  Parameters(std::int64_t positions, bool of_children, const FoundParameter& found)
      : positions_(positions), of_children_(of_children), found_(found) {}
  void child(const LayerView& layer, Held) override {
    if (of_children_) visit(layer, *this);
  }
  void parameter(const std::string& path, std::size_t index, const char* suffix,
                 const ParameterInfo& info) override {
    found_(path, index, suffix, info);
  }
  std::int64_t positions() const override { return positions_; }

 private:
  std::int64_t positions_;
  bool of_children_;
  const FoundParameter& found_;
};

}  // namespace

LayerView view_of(const Layer& layer) {
  return std::visit([](const auto& op) { return LayerView(&op); }, layer.op);
}

void PartVisitor::list(const std::vector<Layer>& layers) {
  for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
    read_ahead(layer, layers.end());
    child(view_of(*layer), Held::in_list);
  }
}

void PartVisitor::list(const std::vector<Residual>& layers) {
  for (const Residual& layer : layers) child(&layer, Held::in_list);
}

void for_each_child(const LayerView& layer,
                    const std::function<void(const LayerView&, Held)>& found) {
  Children children(found);
  visit(layer, children);
}

void for_each_own_parameter(const LayerView& layer, std::int64_t positions,
                            const FoundParameter& found) {
  Parameters parameters(positions, false, found);
  visit(layer, parameters);
}

void for_each_parameter(const std::vector<Layer>& layers, std::int64_t positions,
                        const FoundParameter& found) {
  Parameters parameters(positions, true, found);
  parameters.list(layers);
}

double count_entries(const std::vector<Layer>& layers) {
  Entries entries;
  entries.list(layers);
  return entries.count;
}

}  // namespace scalecalc
