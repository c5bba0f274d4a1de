// NumPy's .npy files: a magic number, a version, and a header that is a Python dictionary literal with the keys descr,
// fortran_order and shape (NumPy Enhancement Proposal 1).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "host_maths.h"
#include "pk/runtime/array.h"

namespace pk::runtime {
namespace {

using ir::Dtype;

static_assert(std::endian::native == std::endian::little, "arrays are written as they stand in memory");

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header = 1 << 20;

struct DescrRow {
  std::string_view descr;
  Dtype dtype;
};
/// NumPy has no bf16 and no 8-bit floats: their bits are written as integers, and read back as these.
constexpr std::array descr_table = {
    DescrRow{"|b1", Dtype::boolean}, DescrRow{"|i1", Dtype::i8},     DescrRow{"<i2", Dtype::i16},
    DescrRow{"<i4", Dtype::i32},     DescrRow{"<i8", Dtype::i64},    DescrRow{"|u1", Dtype::u8},
    DescrRow{"<u2", Dtype::u16},     DescrRow{"<u4", Dtype::u32},    DescrRow{"<u8", Dtype::u64},
    DescrRow{"<f2", Dtype::f16},     DescrRow{"<f4", Dtype::f32},    DescrRow{"<f8", Dtype::f64},
    DescrRow{"<u2", Dtype::bf16},    DescrRow{"|u1", Dtype::f8e4m3}, DescrRow{"|u1", Dtype::f8e5m2},
    DescrRow{"<i8", Dtype::index}};

Error cannot_read(const std::string& path, std::string_view why) {
  return {diag::cannot_read_file::code, fmt::format("cannot read `{}`: {}", path, why)};
}

/// Reads the header's dictionary. It knows what NumPy writes (any order and spacing), not all of Python.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  std::string descr;
  bool fortran_order = false;
  ir::Shape shape;

  [[nodiscard]] bool read() {
    if (!take('{')) return false;
    while (!take('}')) {
      const std::optional<std::string> key = quoted();
      if (!key || !take(':') || !value_of(*key)) return false;
      if (!take(',') && !peek('}')) return false;
    }
    return seen_ == 7;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool peek(char c) {
    skip();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> quoted() {
    const char quote = peek('"') ? '"' : '\'';
    if (!take(quote)) return std::nullopt;
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return std::nullopt;
    return std::string(text_.substr(std::exchange(at_, end + 1), end - at_));
  }
  bool word(std::string_view w) {
    skip();
    if (!text_.substr(at_).starts_with(w)) return false;
    at_ += w.size();
    return true;
  }
  bool value_of(std::string_view key) {
    if (key == "descr") {
      seen_ |= 1;
      std::optional<std::string> text = quoted();
      descr = text.value_or("");
      return text.has_value();
    }
    if (key == "fortran_order") {
      seen_ |= 2;
      fortran_order = word("True");
      return fortran_order || word("False");
    }
    if (key != "shape" || !take('(')) return false;
    seen_ |= 4;
    while (!take(')')) {
      skip();
      std::int64_t extent = 0;
      const auto [stop, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (status != std::errc{} || extent < 0) return false;
      at_ = static_cast<std::size_t>(stop - text_.data());
      word("L");  // written by Python 2
      shape.push_back(extent);
      if (!take(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned seen_ = 0;
};

/// Turns elements in order of the first axis (Fortran) into row-major order.
Array from_fortran(Array array) {
  ir::Shape reversed(array.shape.rbegin(), array.shape.rend());
  std::vector<std::int64_t> perm;
  for (std::size_t i = array.shape.size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  array.shape = std::move(reversed);
  Result<Array> turned = transpose(array, perm);
  PK_CHECK(bool(turned), "reversing axes is a permutation");
  return std::move(*turned);
}

void swap_bytes(Array& array) {
  const std::ptrdiff_t bytes = ir::byte_size(array.dtype);
  for (auto element = array.data.begin(); element != array.data.end(); element += bytes)
    std::reverse(element, element + bytes);
}

}  // namespace

Result<Array> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot_read(path, "it cannot be opened");
  std::array<char, 8> start{};
  file.read(start.data(), start.size());
  if (!file || std::string_view(start.data(), magic.size()) != magic) return cannot_read(path, "it is no .npy file");
  const unsigned version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) return cannot_read(path, fmt::format(".npy version {} is not known", version));
  std::array<unsigned char, 4> length{};
  file.read(reinterpret_cast<char*>(length.data()), version == 1 ? 2 : 4);
  const std::size_t header_bytes =
      length[0] + (std::size_t{length[1]} << 8) + (std::size_t{length[2]} << 16) + (std::size_t{length[3]} << 24);
  if (!file || header_bytes > max_header) return cannot_read(path, "its header is damaged");
  std::string header(header_bytes, '\0');
  file.read(header.data(), static_cast<std::streamsize>(header_bytes));
  HeaderReader reader(header);
  if (!file || !reader.read()) return cannot_read(path, "its header is damaged");

  const bool big_endian = reader.descr.starts_with('>');
  std::string descr = reader.descr;
  if (big_endian || descr.starts_with('=')) descr[0] = '<';
  const auto row = std::ranges::find_if(descr_table, [&](const DescrRow& r) {
    return r.descr.substr(1) == std::string_view(descr).substr(std::min<std::size_t>(1, descr.size()));
  });
  if (row == descr_table.end())
    return cannot_read(path, fmt::format("its element type `{}` is not one of pk's", reader.descr));
  const Result<std::int64_t> bytes = checked_bytes(row->dtype, reader.shape);
  if (!bytes) return cannot_read(path, bytes.error().message);
  // The size is compared first, so that a damaged header does not make a large array out of a small file.
  const std::streamoff data_begin = file.tellg();
  file.seekg(0, std::ios::end);
  if (file.tellg() - data_begin < *bytes) return cannot_read(path, "it ends before its last element");
  file.seekg(data_begin);
  Result<Array> array = checked_array(row->dtype, reader.shape);
  file.read(reinterpret_cast<char*>(array->data.data()), static_cast<std::streamsize>(*bytes));
  if (!file) return cannot_read(path, "it ends before its last element");
  if (big_endian) swap_bytes(*array);
  if (reader.fortran_order) return from_fortran(std::move(*array));
  return array;
}

Result<bool> write_npy(const std::string& path, const Array& array) {
  const auto row = std::ranges::find(descr_table, array.dtype, &DescrRow::dtype);
  PK_CHECK(row != descr_table.end(), "an element type without a row in the table of .npy types");
  std::string shape;
  for (const std::int64_t extent : array.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  if (array.shape.size() == 1) shape += ",";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", row->descr, shape);
  // The data starts at a multiple of 64 bytes; the header ends in a line feed.
  constexpr std::size_t before = 10;
  header.append((64 - (before + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(magic.data(), static_cast<std::streamsize>(magic.size()));
  const char rest[4] = {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  file.write(rest, sizeof rest);
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
  file.close();
  if (!file) return Error{diag::cannot_read_file::code, fmt::format("cannot write `{}`", path)};
  return true;
}

}  // namespace pk::runtime
