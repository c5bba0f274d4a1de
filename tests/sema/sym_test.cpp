#include "sym.h"

#include <catch2/catch.hpp>

using namespace pk::sema;

TEST_CASE("polynomials have one form", "[sym]") {
  SymTable table;
  const Sym m = table.dim("M", 0);
  const Sym n = table.generic("N");
  CHECK(m + n == n + m);
  CHECK(m * n * Sym(2) == n * m + m * n);
  CHECK((m - m).constant() == 0);
  CHECK((m + Sym(3)) * (m - Sym(3)) == m * m - Sym(9));
  CHECK(!(m + Sym(1)).constant());
}

TEST_CASE("comparison is certain or unknown", "[sym]") {
  SymTable table;
  const Sym n = table.generic("N");
  CHECK(equal(n, n) == Truth::yes);
  CHECK(equal(n, n + Sym(1)) == Truth::no);
  CHECK(equal(n, Sym(4)) == Truth::unknown);
  CHECK(less(n, n + Sym(1)) == Truth::yes);
  CHECK(equal(SymShape{n, Sym(2)}, SymShape{n, Sym(3)}) == Truth::no);
  CHECK(equal(SymShape{n}, SymShape{n, n}) == Truth::no);
}

TEST_CASE("exact divisions fold", "[sym]") {
  SymTable table;
  const Sym n = table.generic("N");
  const Sym m = table.dim("M", 0);
  CHECK(table.opaque(OpaqueOp::div, n * Sym(6) + n * m * Sym(4), Sym(2)) == n * Sym(3) + n * m * Sym(2));
  CHECK(table.opaque(OpaqueOp::rem, n * Sym(6), Sym(3)) == Sym(0));
  CHECK(table.opaque(OpaqueOp::div, m * n, n) == m);
  CHECK(!table.opaque(OpaqueOp::div, n, Sym(2)).constant());
  CHECK(table.opaque(OpaqueOp::div, n, Sym(2)) == table.opaque(OpaqueOp::div, n, Sym(2)));
}

TEST_CASE("division of constants rounds as the language says", "[sym]") {
  CHECK(fold(OpaqueOp::div, -7, 2) == -3);
  CHECK(fold(OpaqueOp::rem, -7, 2) == -1);
  CHECK(fold(OpaqueOp::floordiv, -7, 2) == -4);
  CHECK(fold(OpaqueOp::mod, -7, 2) == 1);
  CHECK(fold(OpaqueOp::cdiv, -7, 2) == -3);
  CHECK(fold(OpaqueOp::cdiv, 7, 2) == 4);
  CHECK(fold(OpaqueOp::floordiv, 7, -2) == -4);
  CHECK(fold(OpaqueOp::mod, 7, -2) == -1);
  CHECK(!fold(OpaqueOp::div, 1, 0));
  CHECK(fold(OpaqueOp::div, INT64_MIN, -1) == INT64_MIN);
}

TEST_CASE("run-time and unresolved atoms are told apart", "[sym]") {
  SymTable table;
  const Sym m = table.dim("M", 0);
  const Sym n = table.generic("N");
  const Sym blocks = table.opaque(OpaqueOp::div, m, n);
  CHECK(table.is_runtime(blocks));
  CHECK(table.is_unresolved(blocks));
  CHECK(!table.is_runtime(n));
  CHECK(table.runtime_name(blocks) == "M");
  CHECK(table.print(blocks) == "(M / N)");
}
