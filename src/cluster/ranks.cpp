#include <algorithm>
#include <exception>
#include <new>
#include <numeric>

#include "cluster/bytes.hpp"
#include "scalecalc/cluster.hpp"

namespace scalecalc {
namespace {

constexpr char kSucceeded = 0, kFailed = 1;

/// The exception under way, as an Error.
Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::fault, "out of memory", "",
                 "ask for a smaller network, or fewer threads or ranks");
  } catch (const std::exception& error) {
    return Error(ErrorKind::fault, std::string("unexpected failure: ") + error.what());
  } catch (...) {
    return Error(ErrorKind::fault, "unexpected failure");
  }
}

std::string message_of(const Error& error) {
  cluster::Writer writer;
  writer.put(kFailed);
  writer.put(error.kind());
  for (const std::string& part : {error.message(), error.where(), error.hint()}) writer.put(part);
  return writer.take();
}

Error error_of(cluster::Reader& reader) {
  const auto kind = reader.get<ErrorKind>();
  const std::string message = reader.text(), where = reader.text(), hint = reader.text();
  return Error(kind, message, where, hint);
}

}  // namespace

std::vector<std::string> Ranks::gather(const std::function<std::string()>& work) {
  if (failure_) throw *failure_;
  if (size() == 1) return {work()};
  std::string own;
  try {
    own = kSucceeded + work();
  } catch (...) {
    if (failure_) throw;  // the others know it already
    own = message_of(current_error());
  }
  if (failure_) throw *failure_;
  std::vector<std::string> all;
  try {
    all = exchange(own);
  } catch (const Error& error) {
    failure_ = error;
    throw;
  }
  for (std::string& message : all) {
    cluster::Reader reader(message);
    if (reader.get<char>() == kFailed) {
      failure_ = error_of(reader);
      throw *failure_;
    }
  }
  for (std::string& message : all) message.erase(0, 1);
  return all;
}

void Ranks::wait() {
  gather([] { return std::string(); });
}

std::vector<int> deal(const std::vector<double>& costs, int size) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&costs](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  std::vector<double> load(static_cast<std::size_t>(size), 0.0);
  std::vector<int> owner(costs.size());
  for (const std::size_t piece : order) {
    const auto least = std::ranges::min_element(load);
    *least += costs[piece];
    owner[piece] = static_cast<int>(least - load.begin());
  }
  return owner;
}

std::string device_of_rank(const std::string& device, const std::vector<std::string>& cuda,
                           int local_rank) {
  const bool chooses = device == "auto" || device == "cuda" || device == "cuda+tf32";
  if (!chooses || cuda.empty()) return device;
  const std::string suffix = device == "cuda+tf32" ? "+tf32" : "";
  return cuda[static_cast<std::size_t>(local_rank) % cuda.size()] + suffix;
}

}  // namespace scalecalc
