#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "report/printer.hpp"

namespace scalecalc::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

/// Writes a value as nlohmann's dump would, without the tree of a second copy: results of deep
/// networks run to tens of megabytes.
class Writer {
 public:
  void write(const Value& value) {
    std::visit([this](const auto& data) { add(data); }, value.data());
  }
  void member(const std::string& name, const Value& value) {
    add(name);
    out_ += ": ";
    write(value);
  }
  /// `each(i)` calls write or member for one element.
  template <class Each>
  void list(char open, char close, std::size_t size, const Each& each) {
    out_ += open;
    indent_ += 2;
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out_ += ',';
      new_line();
      each(i);
    }
    indent_ -= 2;
    if (size > 0) new_line();
    out_ += close;
  }
  /// What was written, as a line of its own.
  std::string take() {
    out_ += '\n';
    return std::move(out_);
  }

 private:
  void new_line() {
    out_ += '\n';
    out_.append(indent_, ' ');
  }

  void add(std::monostate) { out_ += "null"; }
  void add(bool truth) { out_ += truth ? "true" : "false"; }
  void add(std::int64_t number) { out_ += std::to_string(number); }
  void add(double number) {
    if (!std::isfinite(number)) {
      out_ += "null";
      return;
    }
    std::array<char, 64> text;
    out_.append(text.data(),
                nlohmann::detail::to_chars(text.data(), text.data() + text.size(), number));
  }
  void add(const std::string& text) {
    if (!is_plain(text)) {
      out_ += dump(Json(text), -1);
      return;
    }
    out_ += '"';
    out_ += text;
    out_ += '"';
  }
  void add(const Value::Digits& number) { add(number.text); }
  void add(const Value::Formula& formula) { add(formula.text); }
  /// Room for all is taken as soon as some show their size: growing a text of megabytes would copy
  /// it again and again.
  void add(const Value::List& elements) {
    constexpr std::size_t some = 16;
    const std::size_t start = out_.size();
    list('[', ']', elements.size, [&](std::size_t i) {
      if (i == some) out_.reserve(start + (out_.size() - start) * elements.size / some * 9 / 8);
      write(elements.element(i));
    });
  }
  void add(const Value::Array& elements) {
    list('[', ']', elements.size(), [&](std::size_t i) { write(elements[i]); });
  }
  void add(const Value::Object& members) {
    list('{', '}', members.size(),
         [&](std::size_t i) { member(members[i].first, members[i].second); });
  }

  std::string out_;
  std::size_t indent_ = 0;
};

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::input: return "input";
    case ErrorKind::unsolvable: return "unsolvable";
    case ErrorKind::fault: break;
  }
  return "fault";
}

class JsonPrinter : public Printer {
 public:
  std::string print(const Document& document) const override {
    const Value scalecalc = version(), command = document.command;
    const std::vector<std::pair<std::string, const Value*>> members = {
        {"scalecalc", &scalecalc},
        {"command", &command},
        {"inputs", &document.inputs},
        {"results", &document.results}};
    Writer writer;
    writer.list('{', '}', members.size(),
                [&](std::size_t i) { writer.member(members[i].first, *members[i].second); });
    return writer.take();
  }
};

}  // namespace

std::string to_json(const Value& value) {
  Writer writer;
  writer.write(value);
  return writer.take();
}

std::unique_ptr<Printer> make_json_printer() {
  return std::make_unique<JsonPrinter>();
}

std::string print_error(Format format, const Error& error) {
  if (format != Format::json) return {};
  Json json;
  json["scalecalc"] = version();
  json["error"] = {{"kind", kind_name(error.kind())},
                   {"message", error.message()},
                   {"where", error.where()},
                   {"hint", error.hint()},
                   {"exit_code", error.exit_code()}};
  return dump(json) + "\n";
}

}  // namespace scalecalc::report
