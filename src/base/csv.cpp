#include "base/csv.hpp"

#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name) : text_(text), name_(name) {
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    if (text_.starts_with(mark)) text_.remove_prefix(mark.size());
  }

  std::vector<CsvRecord> run() {
    std::vector<CsvRecord> records;
    while (at_ < text_.size()) {
      CsvRecord record = this->record();
      if (record.fields.size() > 1 || !record.fields.front().empty())
        records.push_back(std::move(record));
    }
    return records;
  }

 private:
  bool at_end() const { return at_ >= text_.size(); }
  char here() const { return text_[at_]; }
  bool at_line_end() const {
    return at_end() || here() == '\n' ||
           (here() == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
  }

  CsvRecord record() {
    CsvRecord made{line_, {}};
    for (;;) {
      made.fields.push_back(!at_end() && here() == '"' ? quoted() : plain());
      if (at_line_end()) break;
      ++at_;  // the comma
    }
    if (!at_end() && here() == '\r') ++at_;
    if (!at_end()) ++at_;
    ++line_;
    return made;
  }

  std::string plain() {
    const std::size_t begin = at_;
    while (!at_line_end() && here() != ',') {
      if (here() == '"') fail(line_, "a quote inside of a field that does not begin with one");
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    const std::size_t line = line_;
    std::string field;
    for (++at_; !at_end(); ++at_) {
      if (here() != '"') {
        if (here() == '\n') ++line_;
        field += here();
        continue;
      }
      if (at_ + 1 >= text_.size() || text_[at_ + 1] != '"') {
        ++at_;
        if (!at_line_end() && here() != ',') fail(line_, "text behind the quotes of a field");
        return field;
      }
      field += here();
      ++at_;
    }
    fail(line, "a quote that is not closed");
  }

  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw Error(ErrorKind::input, "no CSV: " + what, name_ + ":" + std::to_string(line));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& name) {
  return CsvReader(text, name).run();
}

}  // namespace scalecalc::base
