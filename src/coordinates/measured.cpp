#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/csv.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "scalecalc/coordinates.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

class TableReader {
 public:
  TableReader(std::string_view csv, const std::string& name)
      : records_(base::parse_csv(csv, name)), name_(name) {}

  MeasuredTable run() {
    if (records_.empty())
      throw Error(ErrorKind::input, "the table is empty", name_, "for example site,width,step,rms");
    site_ = column({"site", "module"});
    size_ = column({"width", "depth", "layers", "size"});
    step_ = column({"step", "t"});
    value_ = column({"rms", "mean_abs", "l1", "l2", "mean", "value"});
    read_axis();
    made_.quantity = header()[value_];
    for (std::size_t i = 1; i < records_.size(); ++i) read(records_[i]);
    if (sizes_.size() < 2)
      throw Error(ErrorKind::input, "the table has " + std::to_string(sizes_.size()) + " sizes",
                  name_, "two at least show what grows");
    made_.sizes.assign(sizes_.begin(), sizes_.end());
    made_.steps.assign(steps_.begin(), steps_.end());
    for (const std::string& site : sites_) made_.sites.push_back(averaged(site));
    return std::move(made_);
  }

 private:
  const std::vector<std::string>& header() const { return records_.front().fields; }

  std::size_t column(const std::vector<std::string>& names) const {
    for (const std::string& name : names)
      if (const auto found = std::ranges::find(header(), name); found != header().end())
        return static_cast<std::size_t>(found - header().begin());
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    throw Error(ErrorKind::input, "no column is called " + known,
                name_ + ":" + std::to_string(records_.front().line),
                "the first line names the columns: site,width,step,rms");
  }

  /// That of the column's name; of a column "size" beside an "axis", as this command writes them,
  /// the one that all lines have there.
  void read_axis() {
    made_.axis = header()[size_];
    const auto has = [&](const char* name) {
      return std::ranges::find(header(), name) != header().end();
    };
    const bool has_depth = has("depth") || has("layers");
    const auto at = std::ranges::find(header(), "axis");
    const auto refuse = [&](std::size_t line) {
      throw Error(ErrorKind::input, "the table has several axes",
                  name_ + ":" + std::to_string(line),
                  "give the widths and the depths by themselves");
    };
    if (has("width") && has_depth) refuse(records_.front().line);
    if (made_.axis != "size" || at == header().end()) return;
    const auto column = static_cast<std::size_t>(at - header().begin());
    for (std::size_t i = 1; i < records_.size(); ++i) {
      if (records_[i].fields.size() <= column) continue;
      const std::string axis = base::printable(records_[i].fields[column]);
      if (i > 1 && axis != made_.axis) refuse(records_[i].line);
      made_.axis = axis;
    }
  }

  double number(const base::CsvRecord& record, std::size_t column, const char* wanted) const {
    const std::string& text = record.fields[column];
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc() || end != text.data() + text.size()) fail(record, column, wanted);
    return value;
  }
  [[noreturn]] void fail(const base::CsvRecord& record, std::size_t column,
                         const char* wanted) const {
    throw Error(ErrorKind::input,
                header()[column] + " must be " + wanted + ", not '" +
                    base::shortened(record.fields[column]) + "'",
                name_ + ":" + std::to_string(record.line));
  }

  void read(const base::CsvRecord& record) {
    if (record.fields.size() != header().size())
      throw Error(ErrorKind::input,
                  "the line has " + std::to_string(record.fields.size()) +
                      " fields, and the first " + std::to_string(header().size()),
                  name_ + ":" + std::to_string(record.line));
    const double size = number(record, size_, "a number above 0");
    if (!(size > 0) || !std::isfinite(size)) fail(record, size_, "a number above 0");
    const double step = number(record, step_, "a whole number from 0");
    constexpr double most = 1e15;
    if (!(step >= 0 && step <= most) || step != std::floor(step))
      fail(record, step_, "a whole number from 0");
    double value = number(record, value_, "a number from 0");
    if (value < 0) fail(record, value_, "a number from 0");
    // What somebody measured as NaN has blown up; NaN stands for what nobody measured.
    if (std::isnan(value)) value = std::numeric_limits<double>::infinity();
    const std::string site = base::printable(record.fields[site_]);
    if (known_.insert(site).second) sites_.push_back(site);
    sizes_.insert(size);
    steps_.insert(static_cast<std::int64_t>(step));
    values_[{site, static_cast<std::int64_t>(step), size}].push_back(value);
  }

  MeasuredSite averaged(const std::string& site) const {
    MeasuredSite made{site, {}};
    for (const std::int64_t step : made_.steps) {
      std::vector<double>& row = made.values.emplace_back();
      for (const double size : made_.sizes) {
        const auto found = values_.find({site, step, size});
        row.push_back(found == values_.end() ? none : base::sample_mean(found->second));
      }
    }
    return made;
  }

  std::vector<base::CsvRecord> records_;
  const std::string& name_;
  std::size_t site_ = 0, size_ = 0, step_ = 0, value_ = 0;
  std::set<double> sizes_;
  std::set<std::int64_t> steps_;
  std::set<std::string> known_;
  std::vector<std::string> sites_;
  std::map<std::tuple<std::string, std::int64_t, double>, std::vector<double>> values_;
  MeasuredTable made_;
};

std::optional<SizeLaw> law_of(const std::vector<double>& sizes, const std::vector<double>& values) {
  std::vector<double> x, y;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(values[i] > 0) || !std::isfinite(values[i])) return {};
    x.push_back(std::log(sizes[i]));
    y.push_back(std::log(values[i]));
  }
  const LineFit fit = fit_line(x, y);
  return SizeLaw{fit.slope, sizes.size() > 2 ? fit.slope_standard_error : none};
}

double error_of(const SizeLaw& law) {
  return std::isfinite(law.standard_error) ? law.standard_error : 0;
}
/// Beyond what is steady: above (sign 1), or below (-1).
bool leaves(const SizeLaw& law, int sign) {
  return sign * law.exponent - 2 * error_of(law) > steady_power;
}
/// Beyond it, by no more than its error.
bool is_unclear(const SizeLaw& law) {
  return std::abs(law.exponent) > steady_power && !leaves(law, law.exponent > 0 ? 1 : -1);
}

/// `from_init`: the first step of the table is at most the first of training.
Trend trend_of(const MeasuredSite& measured, const MeasuredTrend& site, bool from_init,
               bool may_fall) {
  for (const std::vector<double>& step : measured.values)
    if (std::ranges::any_of(step, [](double value) { return std::isinf(value); }))
      return Trend::diverges;
  if (!site.last) return Trend::unknown;
  if (from_init && site.first && leaves(*site.first, 1)) return Trend::grows_at_init;
  if (leaves(*site.last, 1)) return Trend::grows_in_training;
  if (site.last->exponent < 0 && may_fall) return Trend::steady;
  if (leaves(*site.last, -1)) return Trend::falls;
  return is_unclear(*site.last) ? Trend::unknown : Trend::steady;
}

}  // namespace

MeasuredTable parse_measured(std::string_view csv, const std::string& name) {
  return TableReader(csv, name).run();
}

std::string to_string(Trend trend) {
  static const std::array<const char*, 6> names = {"steady", "grows at init", "grows in training",
                                                   "falls",  "diverges",      "unknown"};
  return names[static_cast<std::size_t>(trend)];
}

std::vector<MeasuredTrend> trends_of(const MeasuredTable& table) {
  std::vector<MeasuredTrend> trends;
  for (const MeasuredSite& site : table.sites) {
    MeasuredTrend made{site.path, law_of(table.sizes, site.values.front()),
                       law_of(table.sizes, site.values.back()), Trend::steady};
    made.trend = trend_of(site, made, table.steps.front() <= 1, &site == &table.sites.back());
    trends.push_back(std::move(made));
  }
  return trends;
}

}  // namespace scalecalc
