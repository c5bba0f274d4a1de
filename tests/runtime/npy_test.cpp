// .npy files: round trips, a file as NumPy writes it (byte for byte), and damaged ones.

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "pk/ir/numerics.h"
#include "pk/runtime/array.h"

using namespace pk;
using ir::Dtype;
using runtime::Array;

namespace {

/// A directory of its own, removed at the end.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name) : path(std::filesystem::temp_directory_path() / ("pk_npy_" + name)) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// What numpy.save writes: the header is filled up to a multiple of 64 bytes.
std::string numpy_file(const std::string& dictionary, const std::string& data, char version = 1) {
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::string header = dictionary;
  while ((8 + length_bytes + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string text("\x93NUMPY", 6);
  text += version;
  text += '\0';
  for (std::size_t i = 0; i < length_bytes; ++i) text += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return text + header + data;
}

}  // namespace

TEST_CASE("arrays of every type survive a round trip", "[npy]") {
  const Folder folder("round");
  for (const ir::DtypeInfo& type : ir::dtype_table) {
    INFO(type.spelling);
    for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{5}, ir::Shape{2, 3, 4}, ir::Shape{0, 3}}) {
      const Array a = runtime::random_array(type.dtype, shape, 9, 0, 1);
      const std::string path = folder.file("a.npy");
      REQUIRE(runtime::write_npy(path, a));
      Result<Array> b = runtime::read_npy(path);
      REQUIRE(b);
      CHECK(b->shape == a.shape);
      CHECK(b->data == a.data);
      CHECK(ir::byte_size(b->dtype) == ir::byte_size(a.dtype));
      if (type.dtype <= Dtype::u64 || type.dtype == Dtype::f16 || type.dtype == Dtype::f32 || type.dtype == Dtype::f64)
        CHECK(b->dtype == a.dtype);
    }
  }
}

TEST_CASE("files are what NumPy writes", "[npy]") {
  const Folder folder("numpy");
  const float values[] = {1.5F, -2.0F, 3.25F};
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  const std::string expected = numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", data);
  Array a = runtime::make_array(Dtype::f32, {3});
  std::memcpy(a.data.data(), values, sizeof values);
  REQUIRE(runtime::write_npy(folder.file("a.npy"), a));
  std::ifstream file(folder.file("a.npy"), std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == expected);
}

TEST_CASE("Fortran order, big endian and later versions are read", "[npy]") {
  const Folder folder("orders");
  const std::int16_t columns[] = {1, 4, 2, 5, 3, 6};  // [[1, 2, 3], [4, 5, 6]] column by column
  write(folder.file("f.npy"), numpy_file("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }",
                                         std::string(reinterpret_cast<const char*>(columns), 12), 2));
  Result<Array> f = runtime::read_npy(folder.file("f.npy"));
  REQUIRE(f);
  CHECK(f->shape == ir::Shape{2, 3});
  for (std::int64_t i = 0; i < 6; ++i) CHECK(ir::Scalar::load(Dtype::i16, f->data.data() + 2 * i).as_int() == i + 1);
  write(folder.file("b.npy"),
        numpy_file("{'shape': (1, ), 'fortran_order': False, 'descr': '>u4'}", std::string("\0\0\1\2", 4), 3));
  Result<Array> b = runtime::read_npy(folder.file("b.npy"));
  REQUIRE(b);
  CHECK(ir::Scalar::load(Dtype::u32, b->data.data()).as_int() == 258);
}

TEST_CASE("damaged files are refused", "[npy]") {
  const Folder folder("damaged");
  const std::string path = folder.file("a.npy");
  CHECK_FALSE(runtime::read_npy(folder.file("absent.npy")));
  const std::string good =
      numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", std::string(12, 'x'));
  for (std::size_t length = 0; length < good.size(); ++length) {
    write(path, good.substr(0, length));
    CHECK_FALSE(runtime::read_npy(path));
  }
  write(path, good);
  CHECK(runtime::read_npy(path));
  for (const char* dictionary :
       {"", "{}", "{'descr': '<f4', 'shape': (3,)}", "{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000, 4000000000)}",
        "{'descr': '', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3"}) {
    INFO(dictionary);
    write(path, numpy_file(dictionary, std::string(12, 'x')));
    Result<Array> a = runtime::read_npy(path);
    CHECK_FALSE(a);
    CHECK(a.error().message.find(path) != std::string::npos);
  }
}
