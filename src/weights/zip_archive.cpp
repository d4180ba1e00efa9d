#include "weights/zip_archive.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.hpp"
#include "scalecalc/error.hpp"

namespace scalecalc::weights {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they are in a file");

constexpr char kZipHint[] = "give a .pt2 file as torch.export.save writes it";

/// The records of a zip archive (APPNOTE 6.3, 4.3), each without what is of variable length.
constexpr std::uint32_t end_mark = 0x06054b50, end64_mark = 0x06064b50, locator_mark = 0x07064b50,
                        central_mark = 0x02014b50, local_mark = 0x04034b50;
constexpr std::size_t end_bytes = 22, end64_bytes = 56, locator_bytes = 20, central_bytes = 46,
                      local_bytes = 30, longest_comment = 65535;
constexpr std::uint16_t encrypted_flag = 1, zip64_extra = 1;

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

/// Fields of the zip64 extra field that stand in for those of a central header that are all ones.
class Wide {
 public:
  Wide(std::string_view extra) {
    while (extra.size() >= 4) {
      const auto size = std::size_t{number_at<std::uint16_t>(extra, 2)};
      if (size > extra.size() - 4) return;
      if (number_at<std::uint16_t>(extra, 0) == zip64_extra) rest_ = extra.substr(4, size);
      extra.remove_prefix(4 + size);
    }
  }
  /// False where it is needed and missing.
  bool widen(std::uint64_t& field) {
    if (field != 0xFFFFFFFFu) return true;
    if (rest_.size() < 8) return false;
    field = number_at<std::uint64_t>(rest_, 0);
    rest_.remove_prefix(8);
    return true;
  }

 private:
  std::string_view rest_;
};

bool is_plain(std::string_view name) {
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '\\';
  });
  return printable && !name.empty() && name.size() <= ZipArchive::Limits::name_bytes &&
         name.front() != '/' && name.find("..") == std::string_view::npos;
}

}  // namespace

ZipArchive::ZipArchive(const std::string& path)
    : path_(path),
      file_(std::make_unique<base::InputFile>(path, base::InputKind{"graph", kZipHint})),
      size_(file_->size()) {
  read_directory(find_directory());
  check_apart();
}

void ZipArchive::fail(const std::string& what) const {
  throw Error(ErrorKind::input, what, base::shortened(path_), kZipHint);
}

const ZipArchive::Entry* ZipArchive::find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

void ZipArchive::read(std::uint64_t at, std::size_t count, void* out) const {
  auto* bytes = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t got = ::pread(file_->descriptor(), bytes, count, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot read the file: ") + std::strerror(errno));
    if (got == 0) fail(fmt::format("the file ends at its byte {}", at));
    bytes += got;
    at += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
}

std::string ZipArchive::text(const Entry& entry, std::string_view name, std::uint64_t most) const {
  if (entry.size > most)
    fail(fmt::format("{} has {} bytes; at most {} are read", base::shortened(name), entry.size,
                     most));
  std::string content(entry.size, '\0');
  read(entry.begin, content.size(), content.data());
  return content;
}

/// The record at the end, behind which a comment may stand.
ZipArchive::Directory ZipArchive::find_directory() const {
  if (size_ < end_bytes) fail(fmt::format("a file of {} bytes is no zip archive", size_));
  const std::uint64_t window = std::min<std::uint64_t>(size_, end_bytes + longest_comment);
  std::string tail(window, '\0');
  read(size_ - window, window, tail.data());
  std::size_t at = window - end_bytes;
  while (number_at<std::uint32_t>(tail, at) != end_mark ||
         number_at<std::uint16_t>(tail, at + 20) != window - at - end_bytes) {
    if (at == 0) fail("this is no zip archive, or it is cut off");
    --at;
  }
  Directory directory{number_at<std::uint32_t>(tail, at + 16),
                      number_at<std::uint32_t>(tail, at + 12),
                      number_at<std::uint16_t>(tail, at + 10)};
  const std::uint64_t end = size_ - window + at;
  const bool is_wide =
      directory.begin == 0xFFFFFFFFu || directory.size == 0xFFFFFFFFu || directory.count == 0xFFFFu;
  if (is_wide) {
    if (end < locator_bytes + end64_bytes) fail("the directory of the archive is cut off");
    std::string locator(locator_bytes, '\0'), record(end64_bytes, '\0');
    read(end - locator_bytes, locator_bytes, locator.data());
    const auto record_at = number_at<std::uint64_t>(locator, 8);
    if (number_at<std::uint32_t>(locator, 0) != locator_mark ||
        record_at > end - locator_bytes - end64_bytes)
      fail("the directory of the archive is damaged");
    read(record_at, end64_bytes, record.data());
    if (number_at<std::uint32_t>(record, 0) != end64_mark)
      fail("the directory of the archive is damaged");
    directory = {number_at<std::uint64_t>(record, 48), number_at<std::uint64_t>(record, 40),
                 number_at<std::uint64_t>(record, 32)};
  }
  if (directory.begin > end || directory.size > end - directory.begin)
    fail("the directory of the archive lies outside the file");
  if (directory.size > Limits::directory_bytes || directory.count > Limits::entries)
    fail(fmt::format("the archive has {} entries, at most {} are read", directory.count,
                     Limits::entries));
  return directory;
}

void ZipArchive::read_directory(const Directory& directory) {
  std::string bytes(directory.size, '\0');
  read(directory.begin, bytes.size(), bytes.data());
  std::string_view rest = bytes;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    if (rest.size() < central_bytes || number_at<std::uint32_t>(rest, 0) != central_mark)
      fail("the directory of the archive is damaged");
    const std::size_t name_size = number_at<std::uint16_t>(rest, 28),
                      extra_size = number_at<std::uint16_t>(rest, 30),
                      all = central_bytes + name_size + extra_size +
                            number_at<std::uint16_t>(rest, 32);
    if (rest.size() < all) fail("the directory of the archive is damaged");
    const std::string name(rest.substr(central_bytes, name_size));
    if (!is_plain(name))
      fail("the archive has an entry with no plain name: '" + base::shortened(name) + "'");
    std::uint64_t stored = number_at<std::uint32_t>(rest, 20),
                  size = number_at<std::uint32_t>(rest, 24),
                  header = number_at<std::uint32_t>(rest, 42);
    Wide wide(rest.substr(central_bytes + name_size, extra_size));
    if (!wide.widen(size) || !wide.widen(stored) || !wide.widen(header))
      fail("the directory of the archive is damaged");
    if ((number_at<std::uint16_t>(rest, 8) & encrypted_flag) != 0)
      fail("'" + base::shortened(name) + "' is encrypted");
    if (number_at<std::uint16_t>(rest, 10) != 0 || stored != size)
      fail("'" + base::shortened(name) + "' is compressed, and nothing is inflated");
    Entry entry{0, size};
    place(name, header, entry, directory);
    if (!entries_.emplace(name, entry).second)
      fail("the archive has '" + base::shortened(name) + "' twice");
    rest.remove_prefix(all);
  }
}

/// Where its bytes begin: behind its local header.
void ZipArchive::place(const std::string& name, std::uint64_t header, Entry& entry,
                       const Directory& directory) const {
  std::string local(local_bytes, '\0');
  const auto is_inside = [&](std::uint64_t at, std::uint64_t count) {
    return at <= directory.begin && count <= directory.begin - at;
  };
  if (!is_inside(header, local_bytes))
    fail("'" + base::shortened(name) + "' lies outside the file");
  read(header, local_bytes, local.data());
  const std::size_t name_size = number_at<std::uint16_t>(local, 26);
  if (number_at<std::uint32_t>(local, 0) != local_mark || name_size != name.size())
    fail("'" + base::shortened(name) + "' is not where the archive says");
  entry.begin = header + local_bytes + name_size + number_at<std::uint16_t>(local, 28);
  if (!is_inside(entry.begin, entry.size))
    fail("'" + base::shortened(name) + "' lies outside the file");
}

/// Many entries on the same bytes make a small file seem large.
void ZipArchive::check_apart() const {
  std::vector<std::pair<const std::string*, const Entry*>> order;
  for (const auto& [name, entry] : entries_)
    if (entry.size > 0) order.emplace_back(&name, &entry);
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second->begin < b.second->begin; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i - 1].second->begin + order[i - 1].second->size > order[i].second->begin)
      fail("'" + base::shortened(*order[i].first) + "' lies on '" +
           base::shortened(*order[i - 1].first) + "'");
}

}  // namespace scalecalc::weights
