#include "sym.h"

#include <fmt/format.h>

#include <algorithm>

namespace pk::sema {
namespace {

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t truncated_div(std::int64_t a, std::int64_t b) { return b == -1 ? wrap_mul(a, -1) : a / b; }
std::int64_t truncated_rem(std::int64_t a, std::int64_t b) { return b == -1 ? 0 : a % b; }

/// `factors` without those of `part`; nullopt when one is missing.
std::optional<std::vector<std::uint32_t>> without(const std::vector<std::uint32_t>& factors,
                                                  const std::vector<std::uint32_t>& part) {
  if (!std::includes(factors.begin(), factors.end(), part.begin(), part.end())) return std::nullopt;
  std::vector<std::uint32_t> rest;
  std::set_difference(factors.begin(), factors.end(), part.begin(), part.end(), std::back_inserter(rest));
  return rest;
}

std::string_view spelling(OpaqueOp op) {
  switch (op) {
    case OpaqueOp::div:
      return "/";
    case OpaqueOp::rem:
      return "%";
    case OpaqueOp::floordiv:
      return "floordiv";
    case OpaqueOp::mod:
      return "mod";
    case OpaqueOp::cdiv:
      return "cdiv";
    case OpaqueOp::min:
      return "min";
    case OpaqueOp::max:
      return "max";
  }
  return "";
}

}  // namespace

std::optional<std::int64_t> Sym::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_[0].factors.empty()) return terms_[0].coefficient;
  return std::nullopt;
}

std::optional<std::uint32_t> Sym::single_atom() const {
  if (terms_.size() == 1 && terms_[0].coefficient == 1 && terms_[0].factors.size() == 1) return terms_[0].factors[0];
  return std::nullopt;
}

Sym Sym::from_terms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.factors < b.factors; });
  Sym sum;
  for (Term& t : terms) {
    if (!sum.terms_.empty() && sum.terms_.back().factors == t.factors) {
      sum.terms_.back().coefficient = wrap_add(sum.terms_.back().coefficient, t.coefficient);
    } else {
      sum.terms_.push_back(std::move(t));
    }
  }
  std::erase_if(sum.terms_, [](const Term& t) { return t.coefficient == 0; });
  return sum;
}

Sym operator+(const Sym& a, const Sym& b) {
  std::vector<Term> terms = a.terms_;
  terms.insert(terms.end(), b.terms_.begin(), b.terms_.end());
  return Sym::from_terms(std::move(terms));
}

Sym operator*(const Sym& a, const Sym& b) {
  std::vector<Term> terms;
  for (const Term& x : a.terms_) {
    for (const Term& y : b.terms_) {
      Term product{{}, wrap_mul(x.coefficient, y.coefficient)};
      std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
                 std::back_inserter(product.factors));
      terms.push_back(std::move(product));
    }
  }
  return Sym::from_terms(std::move(terms));
}

std::optional<Sym> Sym::exact_quotient(const Sym& divisor) const {
  if (divisor.terms_.size() != 1) return std::nullopt;
  const Term& d = divisor.terms_[0];
  std::vector<Term> quotient;
  for (const Term& t : terms_) {
    auto rest = without(t.factors, d.factors);
    if (!rest || truncated_rem(t.coefficient, d.coefficient) != 0) return std::nullopt;
    quotient.push_back({std::move(*rest), truncated_div(t.coefficient, d.coefficient)});
  }
  return from_terms(std::move(quotient));
}

std::optional<std::int64_t> fold(OpaqueOp op, std::int64_t a, std::int64_t b) {
  if (op == OpaqueOp::min) return std::min(a, b);
  if (op == OpaqueOp::max) return std::max(a, b);
  if (b == 0) return std::nullopt;
  const std::int64_t quotient = truncated_div(a, b);
  const std::int64_t rest = truncated_rem(a, b);
  const bool below = rest != 0 && (rest < 0) != (b < 0);  // truncation went up
  const bool above = rest != 0 && (rest < 0) == (b < 0);  // truncation went down
  switch (op) {
    case OpaqueOp::div:
      return quotient;
    case OpaqueOp::rem:
      return rest;
    case OpaqueOp::floordiv:
      return below ? quotient - 1 : quotient;
    case OpaqueOp::mod:
      return below ? rest + b : rest;
    case OpaqueOp::cdiv:
      return above ? quotient + 1 : quotient;
    case OpaqueOp::min:
    case OpaqueOp::max:
      break;
  }
  return std::nullopt;
}

Sym SymTable::add(Atom atom) {
  for (std::uint32_t i = 0; i < atoms_.size(); ++i) {
    const Atom& a = atoms_[i];
    if (a.kind == atom.kind && a.name == atom.name && a.number == atom.number && a.op == atom.op &&
        a.left == atom.left && a.right == atom.right) {
      return Sym::atom(i);
    }
  }
  atoms_.push_back(std::move(atom));
  return Sym::atom(static_cast<std::uint32_t>(atoms_.size() - 1));
}

Sym SymTable::generic(std::string_view name) {
  Atom a;
  a.kind = Atom::Kind::generic;
  a.name = std::string(name);
  return add(std::move(a));
}

Sym SymTable::dim(std::string_view name, std::int64_t number) {
  Atom a;
  a.kind = Atom::Kind::dim;
  a.name = std::string(name);
  a.number = number;
  return add(std::move(a));
}

Sym SymTable::param(std::string_view name, std::int64_t number) {
  Atom a;
  a.kind = Atom::Kind::param;
  a.name = std::string(name);
  a.number = number;
  return add(std::move(a));
}

Sym SymTable::opaque(OpaqueOp op, const Sym& left, const Sym& right) {
  const auto a = left.constant();
  const auto b = right.constant();
  if (a && b) {
    if (const auto folded = fold(op, *a, *b)) return *folded;
  }
  const bool is_division = op == OpaqueOp::div || op == OpaqueOp::floordiv || op == OpaqueOp::cdiv;
  if (op == OpaqueOp::min || op == OpaqueOp::max) {
    if (left == right) return left;
  } else if (const auto quotient = left.exact_quotient(right)) {
    return is_division ? *quotient : Sym(0);
  }
  Atom atom;
  atom.kind = Atom::Kind::opaque;
  atom.op = op;
  atom.left = left;
  atom.right = right;
  return add(std::move(atom));
}

bool SymTable::contains(const Sym& s, bool runtime) const {
  for (const Term& t : s.terms()) {
    for (const std::uint32_t f : t.factors) {
      const Atom& a = atoms_[f];
      if (a.kind == Atom::Kind::opaque) {
        if (contains(a.left, runtime) || contains(a.right, runtime)) return true;
      } else if ((a.kind == Atom::Kind::generic) != runtime) {
        return true;
      }
    }
  }
  return false;
}

bool SymTable::is_runtime(const Sym& s) const { return contains(s, true); }
bool SymTable::is_unresolved(const Sym& s) const { return contains(s, false); }

std::string SymTable::runtime_name(const Sym& s) const {
  for (const Term& t : s.terms()) {
    for (const std::uint32_t f : t.factors) {
      const Atom& a = atoms_[f];
      if (a.kind == Atom::Kind::opaque) {
        const std::string left = runtime_name(a.left);
        if (!left.empty()) return left;
        const std::string right = runtime_name(a.right);
        if (!right.empty()) return right;
      } else if (a.kind != Atom::Kind::generic) {
        return a.name;
      }
    }
  }
  return {};
}

std::string SymTable::print(const Sym& s) const {
  if (const auto c = s.constant()) return fmt::format("{}", *c);
  std::string text;
  for (const Term& t : s.terms()) {
    std::string product;
    if (t.coefficient != 1 || t.factors.empty()) product = fmt::format("{}", t.coefficient);
    for (const std::uint32_t f : t.factors) {
      const Atom& a = atoms_[f];
      if (!product.empty()) product += " * ";
      if (a.kind != Atom::Kind::opaque) {
        product += a.name;
      } else if (a.op == OpaqueOp::div || a.op == OpaqueOp::rem) {
        product += fmt::format("({} {} {})", print(a.left), spelling(a.op), print(a.right));
      } else {
        product += fmt::format("{}({}, {})", spelling(a.op), print(a.left), print(a.right));
      }
    }
    if (!text.empty()) text += " + ";
    text += product;
  }
  return text;
}

Truth equal(const Sym& a, const Sym& b) {
  const auto difference = (a - b).constant();
  if (!difference) return Truth::unknown;
  return *difference == 0 ? Truth::yes : Truth::no;
}

Truth equal(const SymShape& a, const SymShape& b) {
  if (a.size() != b.size()) return Truth::no;
  Truth all = Truth::yes;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Truth t = equal(a[i], b[i]);
    if (t == Truth::no) return Truth::no;
    if (t == Truth::unknown) all = Truth::unknown;
  }
  return all;
}

Truth less(const Sym& a, const Sym& b) {
  const auto difference = (a - b).constant();
  if (!difference) return Truth::unknown;
  return *difference < 0 ? Truth::yes : Truth::no;
}

}  // namespace pk::sema
