#pragma once
// The syntax tree: plain structs in arenas, one Ast per file. Nodes do nothing; folders that need a meaning
// (sema, the formatter, the test runner) write functions over them.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pk/frontend/source.h"

namespace pk::ast {

using ExprId = Id<struct ExprTag>;
using StmtId = Id<struct StmtTag>;
using TypeId = Id<struct TypeTag>;

/// An identifier as written. `text` points into the source. A missing name (`mesh(wg: 2)`) has empty text and the
/// span where it should stand.
struct Name {
  std::string_view text;
  Span span;
  [[nodiscard]] bool present() const { return !text.empty(); }
};

// ---- expressions ---------------------------------------------------------------------------------------------

enum class UnaryOp : std::uint8_t { negate, logical_not, bit_not };
enum class BinaryOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  rem,
  shl,
  shr,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or
};

struct Arg {
  Name name;  ///< present for `name = value`
  ExprId value;
};

/// One entry between the brackets of an index.
struct Index {
  enum class Kind : std::uint8_t { single, range, sized, full, ellipsis, new_axis };
  Kind kind = Kind::single;
  ExprId first;   ///< single: the index; range: low (invalid: from 0); sized: start
  ExprId second;  ///< range: high (invalid: to the end); sized: size
  Span span;
};

struct ErrorExpr {};  ///< stands for text that did not parse; already reported
struct IntLiteral {
  std::uint64_t value;
};
struct FloatLiteral {
  double value;
};  ///< also `inf` and `nan`
struct BoolLiteral {
  bool value;
};
struct StringLiteral {
  std::string value;
};
struct NameExpr {
  Name name;
};
struct Unary {
  UnaryOp op;
  ExprId operand;
};
struct Binary {
  BinaryOp op;
  Span op_span;
  ExprId left, right;
};
struct Cast {
  ExprId operand;
  Name type;
};  ///< `operand as type`
struct IndexExpr {
  ExprId base;
  std::vector<Index> indices;
  bool at;
  Span brackets;
};  ///< `base[…]`, or `base.at[…]`
struct Member {
  ExprId base;
  Name name;
};  ///< `base.name`: `x.T`, `acc.load`, `x.reshape`, `std.math.gelu`
struct Peer {
  ExprId base;
  std::vector<Arg> coordinates;
};  ///< `base.peer[c = i, …]`
struct Call {
  ExprId callee;
  std::vector<Arg> generics;
  std::vector<Arg> args;
  Span parens;
};
struct Launch {
  Name kernel;
  std::vector<Arg> generics;
  std::vector<Arg> args;
  Span parens;
};
struct Tuple {
  std::vector<ExprId> elements;
};  ///< `(a, b)`
struct SetExpr {
  std::vector<ExprId> elements;
};  ///< `{0, 1}`
struct ListExpr {
  std::vector<ExprId> elements;
};  ///< `[a, b]`

struct Expr {
  Span span;
  std::variant<ErrorExpr, IntLiteral, FloatLiteral, BoolLiteral, StringLiteral, NameExpr, Unary, Binary, Cast,
               IndexExpr, Member, Peer, Call, Launch, Tuple, SetExpr, ListExpr>
      node;
};

// ---- types and attributes ------------------------------------------------------------------------------------

/// `smem f32[64, 128]`, `f32`, `barrier[4]`, `(f32[64], i32)`.
struct TypeExpr {
  Span span;
  Name space;  ///< gmem | smem | acc | tmem | regs, when written
  Name base;   ///< dtype, dtype parameter, barrier, cluster_barrier, semaphore, index, int
  std::vector<ExprId> dims;
  bool brackets = false;   ///< without brackets the type is a scalar
  bool any_shape = false;  ///< `T[...]` in the signature of a fn: a scalar or a tile of any shape. All `...` of one
                           ///< call that are not scalars have the same shape; a result `T[...]` has it too
  std::vector<TypeId> tuple;  ///< non-empty: a tuple type, `base` is absent
};

/// tiled(…), swizzle(…), arrivals(…), collective(…), global, oob(…), delay_release(…), stages(…), registers(…): an
/// attribute by its keyword. Arguments are expressions (names for collective and oob).
struct Attribute {
  Name name;
  std::vector<ExprId> args;
  Span span;  ///< keyword and arguments
};

// ---- statements ----------------------------------------------------------------------------------------------

struct Block {
  Span span;  ///< braces included
  std::vector<StmtId> stmts;
};

struct ErrorStmt {};
struct Let {
  bool mutable_;
  std::vector<Name> names;
  TypeId type;
  ExprId init;
};  ///< several names: a tuple pattern
struct Const {
  Name name;
  TypeId type;
  ExprId value;
};
/// `target op= value`; op absent for plain `=`.
struct Assign {
  ExprId target;
  std::optional<BinaryOp> op;
  Span op_span;
  ExprId value;
};
struct ExprStmt {
  ExprId expr;
};
struct If {
  ExprId condition;
  Block then;
  std::optional<Block> otherwise;
};  ///< `else if` is a Block with one If
struct For {
  bool unroll;
  Name variable;
  ExprId low, high, step;
  Block body;
};
struct While {
  ExprId condition;
  Block body;
};
struct Break {};
struct Continue {};
struct Return {
  ExprId value;
};  ///< value may be invalid
struct BlockStmt {
  Block block;
};
struct Fast {
  Block block;
};
struct Step {
  Block block;
};
struct ExpectError {
  ExprId code;
  Block block;
};

struct Alloc {
  Name name;
  TypeId type;  ///< smem/acc/tmem type or barrier/cluster_barrier/semaphore
  std::vector<Attribute> attributes;
  ExprId init;
  std::vector<Alloc> members;  ///< `union { … }`: name and type absent
  Span span;
};
struct Scoped {
  Span keyword;
  std::optional<Attribute> collective;
  std::vector<Alloc> allocs;
  Span parens;
  Block body;
};

struct Arm {
  std::vector<ExprId> threads;  ///< empty: `else`
  std::optional<Attribute> registers;
  Span selector;
  Block body;
};
struct Specialize {
  Span keyword;
  Name axis;
  std::vector<Arm> arms;
};

struct Transfer {
  bool store;
  Name name;
  ExprId view;  ///< a gmem `.at[…]` expression
  std::vector<Attribute> attributes;
  Span span;
};
struct PipelineRoles {
  Name axis;
  ExprId memory;
  std::optional<Attribute> memory_registers;
  std::vector<ExprId> compute;
  std::optional<Attribute> compute_registers;
  Span span;
};
struct PipelineRange {
  Name variable;
  ExprId low, high;
};
struct Pipeline {
  Span keyword;
  std::vector<PipelineRange> ranges;
  std::vector<Attribute> attributes;   ///< stages, delay_release
  std::optional<PipelineRoles> roles;  ///< specialize(…)
  std::vector<Transfer> transfers;
  bool compute_form;  ///< `compute { … step { } … }`; else the block is the step
  Block body;
};

struct Stmt {
  Span span;
  std::variant<ErrorStmt, Let, Const, Assign, ExprStmt, If, For, While, Break, Continue, Return, BlockStmt, Fast, Step,
               ExpectError, Scoped, Specialize, Pipeline>
      node;
};

// ---- items ---------------------------------------------------------------------------------------------------

enum class Mode : std::uint8_t { value, in, out, inout };

struct Generic {
  Name name;
  std::vector<Name> kinds;  ///< `int`, or the dtypes it may be
  ExprId default_value;
  Span span;
};
struct BlockSpec {
  std::vector<ExprId> shape;
  std::vector<ExprId> at;
  std::vector<Attribute> attributes;
  Span span;
};
struct Param {
  Mode mode;
  Name name;
  TypeId type;
  std::vector<Attribute> attributes;  ///< of fn parameters
  std::optional<BlockSpec> block;
  Span span;
};
struct Axis {
  enum class Kind : std::uint8_t { grid, cluster, wg };
  Kind kind;
  Name name;    ///< may be absent (PK0308)
  ExprId size;  ///< may be absent (PK0308)
  bool nonportable = false;
  Span span;
};
/// A mesh written in place, or the use of a named one.
struct MeshUse {
  Span span;
  Name named;
  std::vector<ExprId> args;
  std::vector<Axis> axes;
};
struct BlockedAxis {
  Name name;
  bool sequential = false;
  ExprId extent;
  Span span;
};
struct BlockedGrid {
  Span span;
  std::vector<BlockedAxis> axes;
  std::vector<Attribute> attributes;  ///< stages, delay_release
  std::vector<Alloc> scratch;
};

struct Import {
  std::vector<Name> path;
};
struct MeshItem {
  Name name;
  std::vector<Param> params;
  std::vector<Axis> axes;
};
struct Function {
  Name name;
  std::vector<Generic> generics;
  std::vector<Param> params;
  TypeId result;  ///< may be invalid
  std::vector<ExprId> where;
  Block body;
};
struct Kernel {
  Name name;
  std::vector<Generic> generics;
  std::vector<Param> params;
  std::vector<ExprId> where;
  std::optional<MeshUse> mesh;
  std::optional<BlockedGrid> blocked;
  Block body;
};
struct Test {
  Name name;
  Block body;
};

struct Item {
  Span span;            ///< of the whole item, without its doc comment
  std::string doc;      ///< text of the `///` lines above it
  bool broken = false;  ///< has syntax errors (reported): its name and head may be used, its body not
  std::variant<Import, Const, MeshItem, Function, Kernel, Test> node;
};

/// The tree of one file. References into it stay valid (deques).
class Ast {
 public:
  FileId file;
  std::vector<Item> items;

  ExprId add(Expr e) {
    exprs_.push_back(std::move(e));
    return {static_cast<std::uint32_t>(exprs_.size() - 1)};
  }
  StmtId add(Stmt s) {
    stmts_.push_back(std::move(s));
    return {static_cast<std::uint32_t>(stmts_.size() - 1)};
  }
  TypeId add(TypeExpr t) {
    types_.push_back(std::move(t));
    return {static_cast<std::uint32_t>(types_.size() - 1)};
  }
  [[nodiscard]] const Expr& operator[](ExprId id) const { return exprs_[id.raw]; }
  [[nodiscard]] const Stmt& operator[](StmtId id) const { return stmts_[id.raw]; }
  [[nodiscard]] const TypeExpr& operator[](TypeId id) const { return types_[id.raw]; }

 private:
  std::deque<Expr> exprs_;
  std::deque<Stmt> stmts_;
  std::deque<TypeExpr> types_;
};

}  // namespace pk::ast
