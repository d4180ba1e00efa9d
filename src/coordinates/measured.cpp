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
    made_.axis = header()[size_];
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

/// Beyond what is steady: above (sign 1), or below (-1).
bool leaves(const SizeLaw& law, int sign) {
  const double error = std::isfinite(law.standard_error) ? law.standard_error : 0;
  return sign * law.exponent - 2 * error > steady_power;
}

Trend trend_of(const MeasuredSite& measured, const MeasuredTrend& site, bool may_fall) {
  for (const std::vector<double>& step : measured.values)
    if (std::ranges::any_of(step, [](double value) { return std::isinf(value); }))
      return Trend::diverges;
  if (!site.last) return Trend::unknown;
  if (site.first && leaves(*site.first, 1)) return Trend::grows_at_init;
  if (leaves(*site.last, 1)) return Trend::grows_in_training;
  return !may_fall && leaves(*site.last, -1) ? Trend::falls : Trend::steady;
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
    made.trend = trend_of(site, made, &site == &table.sites.back());
    trends.push_back(std::move(made));
  }
  return trends;
}

}  // namespace scalecalc
