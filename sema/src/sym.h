#pragma once
// Compile-time integers: polynomials over the generics and run-time dimensions of a kernel. Shapes of sema's types are
// made of them, so that two extents can be compared even while a generic has no value yet. Used by all of sema.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pk::sema {

/// Operations that a polynomial cannot express; they become atoms of their own unless they fold.
enum class OpaqueOp : std::uint8_t { div, rem, floordiv, mod, cdiv, min, max };

struct Term {
  std::vector<std::uint32_t> factors;  ///< atom numbers, ascending; empty: the constant term
  std::int64_t coefficient = 0;
  friend bool operator==(const Term&, const Term&) = default;
};

/// A sum of products in canonical form: terms ascend by factors and no coefficient is zero, so equal polynomials are
/// equal values. Arithmetic wraps at 64 bits.
class Sym {
 public:
  Sym() = default;
  Sym(std::int64_t constant) {  // NOLINT: a number is a Sym
    if (constant != 0) terms_.push_back({{}, constant});
  }
  [[nodiscard]] static Sym atom(std::uint32_t number) {
    Sym s;
    s.terms_.push_back({{number}, 1});
    return s;
  }
  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  [[nodiscard]] std::optional<std::int64_t> constant() const;
  /// The single atom that this is, if it is one.
  [[nodiscard]] std::optional<std::uint32_t> single_atom() const;
  friend bool operator==(const Sym&, const Sym&) = default;

  friend Sym operator+(const Sym& a, const Sym& b);
  friend Sym operator*(const Sym& a, const Sym& b);
  friend Sym operator-(const Sym& a, const Sym& b) { return a + b * Sym(-1); }
  /// this / divisor when the division is exact for every value of the atoms.
  [[nodiscard]] std::optional<Sym> exact_quotient(const Sym& divisor) const;

 private:
  static Sym from_terms(std::vector<Term> terms);
  std::vector<Term> terms_;
};

using SymShape = std::vector<Sym>;

/// What an atom stands for.
struct Atom {
  enum class Kind : std::uint8_t {
    generic,  ///< an int generic without a value (checking only)
    dim,      ///< a run-time dimension of the kernel: `number`
    param,    ///< a scalar parameter used as an extent: `number`
    opaque    ///< `op` of `left` and `right`
  };
  Kind kind = Kind::generic;
  std::string name;
  std::int64_t number = -1;
  OpaqueOp op = OpaqueOp::div;
  Sym left, right;
};

enum class Truth : std::uint8_t { no, yes, unknown };

/// The atoms of one elaboration.
class SymTable {
 public:
  [[nodiscard]] Sym generic(std::string_view name);
  [[nodiscard]] Sym dim(std::string_view name, std::int64_t number);
  [[nodiscard]] Sym param(std::string_view name, std::int64_t number);
  /// Folds where it can. Division of two constants by zero must have been refused before.
  [[nodiscard]] Sym opaque(OpaqueOp op, const Sym& left, const Sym& right);

  [[nodiscard]] const Atom& atom(std::uint32_t number) const { return atoms_[number]; }
  /// Whether a run-time dimension or parameter occurs in it.
  [[nodiscard]] bool is_runtime(const Sym& s) const;
  /// Whether a generic without value occurs in it.
  [[nodiscard]] bool is_unresolved(const Sym& s) const;
  /// Name of the first run-time atom, for messages.
  [[nodiscard]] std::string runtime_name(const Sym& s) const;
  [[nodiscard]] std::string print(const Sym& s) const;

 private:
  Sym add(Atom atom);
  [[nodiscard]] bool contains(const Sym& s, bool runtime) const;
  std::vector<Atom> atoms_;
};

[[nodiscard]] Truth equal(const Sym& a, const Sym& b);
[[nodiscard]] Truth equal(const SymShape& a, const SymShape& b);
/// a < b
[[nodiscard]] Truth less(const Sym& a, const Sym& b);

/// The value of `op` on constants; nullopt for a division by zero.
[[nodiscard]] std::optional<std::int64_t> fold(OpaqueOp op, std::int64_t a, std::int64_t b);

}  // namespace pk::sema
