// Names: declarations, lookup, and what is said about names that mean nothing.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {

Elaborator::Elaborator(const Module& module, const ir::Target& target, Diagnostics& diags, Purpose purpose)
    : module_(module), target_(target), diags_(diags), purpose_(purpose), out_(&nowhere_), file_(&module.main()) {}

void Elaborator::begin_host(const ModuleFile& file) {
  file_ = &file;
  frames_.push_back({});
}

void Elaborator::label_calls(DiagnosticBuilder& builder) const {
  for (ir::CallId c = call_; c.valid(); c = kernel_.calls[c.raw].parent) {
    const ir::CallSite& site = kernel_.calls[c.raw];
    builder.label(site.span, fmt::format("in this call of `{}`", site.function));
  }
}

std::string Elaborator::source_text(Span span) const {
  return span.valid() ? std::string(module_.sources().text(span)) : std::string();
}

void Elaborator::declare(const ast::Name& name, Val val, bool is_var) {
  if (!name.present()) return;
  for (std::size_t i = block_base_; i < bindings_.size(); ++i) {
    if (bindings_[i].name != name.text) continue;
    error<diag::duplicate_name>(name.span, name.text)
        .label(bindings_[i].span, "first defined here")
        .help("choose another name, or open a block `{ … }` for it");
    break;
  }
  bindings_.push_back({name.text, name.span, std::move(val), is_var});
}

const Binding* Elaborator::find_local(std::string_view name) const {
  for (std::size_t i = bindings_.size(); i > frame_base_; --i) {
    if (bindings_[i - 1].name == name) return &bindings_[i - 1];
  }
  return nullptr;
}

const Val* Elaborator::find_axis(std::string_view name) const {
  for (const auto& [axis, val] : axes_) {
    if (axis == name) return &val;
  }
  return nullptr;
}

Val Elaborator::name_value(const ast::Name& name) {
  if (!name.present()) return Val::poison();
  if (const Binding* local = find_local(name.text)) {
    if (!local->is_var || local->val.poisoned()) return local->val;
    const ir::Value held = emit(ir::Op::var_get, name.span, {local->val.ir}, lower(local->val.type));
    return Val::value(held, local->val.type);
  }
  if (const Val* axis = find_axis(name.text)) return *axis;
  if (const ItemRef item = module_.find(*file_, name.text)) return item_value(item, name.span);
  if (const auto dtype = ir::parse_dtype(name.text)) return Val::of_dtype(*dtype);
  report_unknown(name);
  return Val::poison();
}

Val Elaborator::item_value(const ItemRef& item, Span span) {
  if (std::holds_alternative<ast::Const>(item.item->node)) return const_value(item);
  Val v;
  v.kind = Val::Kind::function;
  v.item = item;
  if (std::holds_alternative<ast::Function>(item.item->node)) return v;
  const bool is_kernel = std::holds_alternative<ast::Kernel>(item.item->node);
  error<diag::wrong_kind_of_name>(span, item_name(*item.item), is_kernel ? "a kernel" : "a mesh", "a value")
      .label(item_name_token(*item.item).span, "defined here");
  return Val::poison();
}

Val Elaborator::const_value(const ItemRef& item) {
  const auto& constant = std::get<ast::Const>(item.item->node);
  for (const ast::Item* open : consts_open_) {
    if (open != item.item) continue;
    error<diag::recursion>(constant.name.span, constant.name.text)
        .help("give the constant a value that does not need it");
    return Val::poison();
  }
  consts_open_.push_back(item.item);
  const FrameGuard frame(*this, *item.file);
  Val v = value_expr(constant.value);
  if (constant.type.valid()) v = checked_init(constant.type, v, span_of(constant.value));
  consts_open_.pop_back();
  return v;
}

std::vector<std::string> Elaborator::visible_names() const {
  std::vector<std::string> names;
  for (std::size_t i = bindings_.size(); i > frame_base_; --i) names.emplace_back(bindings_[i - 1].name);
  for (const auto& [axis, val] : axes_) names.push_back(axis);
  const auto add_items = [&names](const ModuleFile& file) {
    for (const auto& [name, item] : file.items) {
      if (!std::holds_alternative<ast::Kernel>(item->node)) names.emplace_back(name);
    }
  };
  // Only near misses matter; a file with thousands of items would make every mistake in it slow.
  constexpr std::size_t many = 2000;
  if (file_->items.size() < many) add_items(*file_);
  for (const ModuleFile* import : file_->imports) add_items(*import);
  std::sort(names.begin(), names.end());
  return names;
}

void Elaborator::report_unknown(const ast::Name& name) {
  if (possible_axes_ != nullptr && possible_axes_->contains(name.text)) return;
  auto builder = error<diag::unknown_name>(name.span, name.text);
  if (ir::find_builtin(name.text)) {
    builder.note(fmt::format("`{}` is an operation; call it as `{}(…)`", name.text, name.text));
    return;
  }
  if (const auto near = closest(name.text, visible_names())) builder.help(fmt::format("did you mean `{}`?", *near));
}

}  // namespace pk::sema
