#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "scalecalc/error.hpp"

/// Results as values, and one printer per format. Printers return text; nothing here writes.
namespace scalecalc::report {

/// The version of the library, "0.2.0".
const char* version();

/// A JSON-like value; objects keep the order in which keys were added.
class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;
  /// A number as a decimal text, for more digits than a double holds (a string in JSON).
  struct Digits {
    std::string text;
  };

  /// A formula as text, and as LaTeX for the printer that can show it.
  struct Formula {
    std::string text, latex;
  };

  /// An array whose elements are made one at a time, as they are printed: a long result takes no
  /// more memory than its text.
  struct List {
    std::size_t size = 0;
    std::function<Value(std::size_t)> element;
  };

  Value() = default;  ///< null
  Value(bool value) : data_(value) {}
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}  ///< not finite becomes null in JSON
  Value(const char* text) : data_(std::string(text)) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(Digits digits) : data_(std::move(digits)) {}
  Value(Formula formula) : data_(std::move(formula)) {}
  Value(List list) : data_(std::move(list)) {}
  Value(Array array) : data_(std::move(array)) {}
  Value(Object object) : data_(std::move(object)) {}
  static Value object() { return Value(Object{}); }
  static Value array() { return Value(Array{}); }

  /// The member, added as null when missing; a null value becomes an object.
  Value& operator[](const std::string& key);
  const Value* find(std::string_view key) const;
  void push_back(Value value);

  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, Digits,
                            Formula, List, Array, Object>;
  const Data& data() const { return data_; }

 private:
  Data data_;
};
/// Null for NaN, so that a table shows "-" for it; JSON has null for either.
Value known(double value);

/// What a person reads: titled blocks, in order.
struct Facts {  ///< "name  value" lines
  std::vector<std::pair<std::string, Value>> rows;
};
enum class AxisScale { linear, logarithmic };
/// A series a row of a table, drawn as a last column of sparklines by the table printer alone,
/// where Style asks for them and the width has room.
struct Curves {
  std::string column;  ///< its name; empty: no curves
  std::vector<std::vector<double>> rows;
  AxisScale scale = AxisScale::linear;
  bool only = false;  ///< without its curves the whole section is left out
};
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
  Curves curves = {};
  /// The first columns, which name the row: where Style::elide would leave columns out, the table
  /// is cut into blocks instead, each with these. 0: it is not cut.
  std::size_t key_columns = 0;
};
/// The rows as objects under the names of the columns, made as they are printed.
Value records(Table table);
/// Every scalar of a value under its path, "init[0].gain", in order; a value alone has an empty
/// one. An empty object or array has none.
std::vector<std::pair<std::string, Value>> scalars_of(const Value& value);
struct Paragraph {
  std::string text;
};
/// Lines for a machine, which no printer wraps, indents or escapes where the format allows it.
struct Code {
  std::string text;
};
struct Step {  ///< one step of a derivation; formulas in text and LaTeX
  std::string statement, formula, formula_latex, reason, condition;
};
struct Derivation {
  std::vector<Step> steps;
};
struct Section {
  std::string title;
  std::variant<Facts, Table, Paragraph, Code, Derivation> body;
};

/// Everything one command found.
struct Document {
  std::string command;
  Value inputs = Value::object();
  Value results = Value::object();  ///< the JSON contract
  std::vector<Section> sections;    ///< the same for people (table, md, latex)
  Table rows;                       ///< the same for csv: one row a record; else name,value
};

enum class Format { table, json, csv, markdown, latex };
/// Throws Error(input) with the nearest name.
Format format_from(std::string_view name);
const std::vector<std::string>& format_names();

struct Style {
  bool color = false;    ///< ANSI colours in tables
  int width = 100;       ///< columns of the terminal
  int digits = 7;        ///< significant digits of numbers, except in JSON and CSV (all of them)
  bool curves = false;   ///< sparklines in tables
  bool elide = false;    ///< leaves columns out of a table that is wider than `width`, and says so
  bool unicode = false;  ///< which the terminal can show; else sparklines are ASCII
};

/// One printer per format.
class Printer {
 public:
  virtual ~Printer() = default;
  virtual std::string print(const Document& document) const = 0;
};
std::unique_ptr<Printer> make_printer(Format format, const Style& style = {});

/// A value as JSON, a line at the end.
std::string to_json(const Value& value);

/// What a failed command prints beside its one line: the "error" object in JSON, else nothing.
std::string print_error(Format format, const Error& error);

/// A number for people: `digits` significant digits, no trailing zeros, scientific only outside
/// 1e-5..1e7.
std::string format_number(double value, int digits = 7);
/// The shortest text that reads back as the same double.
std::string shortest(double value);

/// One line of a progress bar: "[=====>    ]  52%  12 s left  N = 128, seed 3". Where `done` is
/// NaN, since nobody knows it: "12 s  N = 128, seed 3".
std::string progress_line(double done, double seconds_so_far, std::string_view what, int width);

}  // namespace scalecalc::report
