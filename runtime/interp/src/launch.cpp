// run(): binds dimensions from the arguments, checks what the launch requires, and hands the clusters to workers.

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "machine.h"

namespace pk::interp {

namespace {

constexpr std::int64_t most_blocks = std::int64_t{1} << 31;

std::int64_t bytes_of(const Buffer& buffer) { return buffer.elements() * ir::byte_size(buffer.dtype); }

class Launcher {
 public:
  Launcher(const Program& program, const std::vector<Argument>& args, Span span, const Options& options,
           Diagnostics& diags)
      : program_(program), kernel_(program.kernel), args_(args) {
    launch_.program = &program;
    launch_.options = &options;
    launch_.diags = &diags;
    launch_.span = span;
  }

  bool run() {
    if (!program_.unsupported.empty()) {
      fail(fmt::format("`{}` cannot be interpreted: {}", kernel_.name, program_.unsupported));
      return false;
    }
    if (!bind_dims()) return false;
    make_arguments();
    Machine machine(launch_, launch_.options->seed);
    Thread thread;
    if (!evaluate_launch_region(machine, thread) || !check_computed_extents(thread) || !check_overlap() || !size_grid())
      return false;
    make_shadows();
    make_grid_semaphores();
    run_clusters(machine);
    report_left_overs();
    return !launch_.failed;
  }

 private:
  DiagnosticBuilder fail(const std::string& message) {
    launch_.failed = true;
    return launch_.diags->report<diag::run_launch>(launch_.span, message);
  }

  bool bind_dims() {
    if (args_.size() != kernel_.params.size()) {
      fail(fmt::format("`{}` has {} parameters, but the launch gives {} arguments", kernel_.name, kernel_.params.size(),
                       args_.size()));
      return false;
    }
    launch_.dims.assign(kernel_.dims.size(), -1);
    std::vector<std::size_t> bound_by(kernel_.dims.size(), 0);
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      if (param.type.is_scalar()) continue;
      if (args_[i].shape.size() != param.dims.size()) {
        fail(fmt::format("`{}` has {} axes, but its argument has {}", param.name, param.dims.size(),
                         args_[i].shape.size()))
            .label(param.span, "the parameter");
        return false;
      }
      for (std::size_t a = 0; a < param.dims.size(); ++a) {
        if (!bind_axis(i, a, bound_by)) return false;
      }
    }
    return true;
  }

  bool bind_axis(std::size_t i, std::size_t axis, std::vector<std::size_t>& bound_by) {
    const ir::Param& param = kernel_.params[i];
    const ir::ParamDim& dim = param.dims[axis];
    const std::int64_t actual = args_[i].shape[axis];
    switch (dim.kind) {
      case ir::ParamDim::Kind::computed:
        return true;  // after the launch region
      case ir::ParamDim::Kind::constant:
        if (actual == dim.value) return true;
        fail(fmt::format("axis {} of `{}` has extent {}, but its argument has {}", axis, param.name, dim.value, actual))
            .label(param.span, "the parameter");
        return false;
      case ir::ParamDim::Kind::symbol: {
        std::int64_t& bound = launch_.dims[static_cast<std::size_t>(dim.value)];
        if (bound < 0) {
          bound = actual;
          bound_by[static_cast<std::size_t>(dim.value)] = i;
          return true;
        }
        if (bound == actual) return true;
        const ir::Param& other = kernel_.params[bound_by[static_cast<std::size_t>(dim.value)]];
        fail(fmt::format("axis {} of `{}` is `{}`, which is {} in the argument of `{}`, but {} here", axis, param.name,
                         kernel_.dims[static_cast<std::size_t>(dim.value)], bound, other.name, actual))
            .label(other.span, fmt::format("`{}` is {} here", kernel_.dims[static_cast<std::size_t>(dim.value)], bound))
            .label(param.span, fmt::format("and {} here", actual))
            .help("pass arguments whose extents agree");
        return false;
      }
    }
    return false;
  }

  void make_arguments() {
    launch_.arguments.resize(args_.size());
    launch_.shadows.resize(args_.size());
    launch_.scalars.resize(args_.size(), 0);
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      if (param.type.is_scalar()) {
        launch_.scalars[i] = args_[i].scalar_bits;
        continue;
      }
      auto buffer = std::make_unique<Buffer>();
      buffer->data = static_cast<std::byte*>(args_[i].data);
      buffer->dtype = param.type.dtype;
      buffer->set_shape(args_[i].shape);
      buffer->name = param.name;
      buffer->span = param.span;
      launch_.arguments[i] = std::move(buffer);
    }
  }

  bool evaluate_launch_region(Machine& machine, Thread& thread) {
    machine.prepare_thread(thread);
    if (!machine.run_launch_code(thread)) return false;
    PK_CHECK(!kernel_.launch.insts.empty() && kernel_.launch.insts.back().op == ir::Op::yield,
             "the launch region yields the mesh");
    for (const ir::Value v : kernel_.launch.insts.back().operands)
      yielded_.push_back(static_cast<std::int64_t>(thread.scalar(program_.slot(v))));
    return true;
  }

  bool check_computed_extents(Thread&) {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      for (std::size_t a = 0; a < param.dims.size(); ++a) {
        if (param.dims[a].kind != ir::ParamDim::Kind::computed) continue;
        const std::int64_t wanted = yielded_[static_cast<std::size_t>(param.dims[a].value)];
        if (args_[i].shape[a] == wanted) continue;
        fail(fmt::format("axis {} of `{}` has to have extent {} here, but its argument has {}", a, param.name, wanted,
                         args_[i].shape[a]))
            .label(param.span, "the parameter's extent is computed");
        return false;
      }
    }
    return true;
  }

  /// Memory that is written must not be seen through another parameter as well.
  bool check_overlap() {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const Buffer* a = launch_.arguments[i].get();
      if (a == nullptr || kernel_.params[i].mode == ir::Mode::in || bytes_of(*a) == 0) continue;
      for (std::size_t j = 0; j < args_.size(); ++j) {
        const Buffer* b = launch_.arguments[j].get();
        if (i == j || b == nullptr || bytes_of(*b) == 0) continue;
        if (a->data + bytes_of(*a) <= b->data || b->data + bytes_of(*b) <= a->data) continue;
        fail(fmt::format("the arguments of `{}` and `{}` overlap in memory, and `{}` is written", a->name, b->name,
                         a->name))
            .label(a->span, "written")
            .label(b->span, "overlaps")
            .help("pass separate memory, or make it one `inout` parameter");
        return false;
      }
    }
    return true;
  }

  bool size_grid() {
    std::int64_t clusters = 1;
    for (std::size_t a = 0; a < kernel_.axes.size(); ++a) {
      const ir::MeshAxis& axis = kernel_.axes[a];
      const std::int64_t extent = a < yielded_.size() ? yielded_[a] : axis.size;
      launch_.extents.push_back(extent);
      if (extent < 0) {
        fail(fmt::format("mesh axis `{}` would have the extent {}", axis.name, extent)).label(axis.span, "this axis");
        return false;
      }
      if (axis.kind == ir::MeshAxis::Kind::cluster) launch_.cluster_size *= static_cast<int>(extent);
      if (axis.kind == ir::MeshAxis::Kind::wg) launch_.threads_per_block = static_cast<int>(extent);
      if (axis.kind == ir::MeshAxis::Kind::grid)
        clusters = extent == 0 ? 0 : std::min(clusters, most_blocks) * std::min(extent, most_blocks);
    }
    launch_.clusters = clusters;
    launch_.agents_per_cluster =
        static_cast<Agent>(launch_.cluster_size * launch_.threads_per_block) * lanes_per_thread +
        static_cast<Agent>(launch_.cluster_size) * program_.barriers_per_block;
    if (clusters <= most_blocks &&
        (!launch_.options->check_races || clusters < std::numeric_limits<Agent>::max() / launch_.agents_per_cluster)) {
      return true;
    }
    fail(fmt::format("the grid would have {} blocks, more than a launch can have", clusters * launch_.cluster_size));
    return false;
  }

  void make_shadows() {
    if (!launch_.options->check_races && !launch_.options->check_init) return;
    for (std::size_t i = 0; i < args_.size(); ++i) {
      Buffer* buffer = launch_.arguments[i].get();
      // What is only read, and does not overlap anything that is written, cannot go wrong.
      if (buffer == nullptr || kernel_.params[i].mode == ir::Mode::in) continue;
      launch_.shadows[i] = std::make_unique<Shadow>(bytes_of(*buffer), args_[i].initialised,
                                                    program_.orders_blocks ? 0 : launch_.agents_per_cluster);
      buffer->shadow = launch_.shadows[i].get();
    }
  }

  void make_grid_semaphores() {
    launch_.grid_semaphores.resize(program_.allocs.size());
    for (std::size_t alloc = 0; alloc < program_.allocs.size(); ++alloc) {
      const AllocInfo& info = program_.allocs[alloc];
      if (!info.global) continue;
      auto storage = std::make_unique<Storage>();
      storage->buffer.space = info.type.space;
      storage->buffer.set_shape(info.type.shape);
      storage->buffer.name = info.name;
      storage->buffer.span = info.inst->loc.span;
      storage->buffer.alloc = static_cast<std::uint32_t>(alloc);
      storage->semaphores.resize(static_cast<std::size_t>(info.elements));
      for (Semaphore& s : storage->semaphores)
        s.clock = launch_.options->check_races ? Clock(0, launch_.agents_per_cluster) : Clock();
      storage->buffer.semaphores = storage->semaphores.data();
      launch_.grid_semaphores[alloc] = std::move(storage);
    }
  }

  void run_clusters(Machine& machine) {
    const Options& options = *launch_.options;
    // Blocks run in parallel only where nobody could tell: no shadows to share, no order that rounding could show.
    const bool parallel = !program_.orders_blocks && !program_.has_atomics && !options.check_races &&
                          !options.check_init && options.schedule != Schedule::random;
    const unsigned cores = options.worker_threads > 0 ? static_cast<unsigned>(options.worker_threads)
                                                      : std::max(1U, std::thread::hardware_concurrency());
    const std::int64_t workers = parallel ? std::min<std::int64_t>(cores, launch_.clusters) : 1;
    if (workers <= 1) return machine.run(0, launch_.clusters);
    std::atomic<std::int64_t> next = 0;
    const std::int64_t chunk = std::max<std::int64_t>(1, launch_.clusters / (workers * 16));
    const auto work = [&](Machine& own) {
      for (;;) {
        const std::int64_t first = next.fetch_add(chunk);
        if (first >= launch_.clusters || launch_.failed) return;
        own.run(first, std::min(first + chunk, launch_.clusters));
      }
    };
    std::vector<std::thread> others;
    for (std::int64_t w = 1; w < workers; ++w) {
      others.emplace_back([&] {
        Machine own(launch_, options.seed);
        work(own);
      });
    }
    work(machine);
    for (std::thread& other : others) other.join();
  }

  void report_left_overs() {
    if (launch_.failed) return;
    for (const auto& storage : launch_.grid_semaphores) {
      if (storage == nullptr) continue;
      for (std::size_t i = 0; i < storage->semaphores.size(); ++i) {
        const Semaphore& semaphore = storage->semaphores[i];
        if (semaphore.count == 0) continue;
        const auto element = static_cast<std::int64_t>(i);
        auto d = launch_.diags->report<diag::run_semaphore_left_over>(
            storage->buffer.span, fmt::format("`{}` still counts {} at the end of the kernel",
                                              describe_range(storage->buffer, element, element + 1), semaphore.count));
        if (semaphore.signalled) d.label(program_.code[semaphore.signal_pc].inst->loc.span, "last signalled here");
        d.help("wait for as much as was signalled");
      }
    }
  }

  const Program& program_;
  const ir::Kernel& kernel_;
  const std::vector<Argument>& args_;
  Launch launch_;
  std::vector<std::int64_t> yielded_;
};

}  // namespace

bool run(const Program& program, const std::vector<Argument>& args, Span launch_span, const Options& options,
         Diagnostics& diags) {
  return Launcher(program, args, launch_span, options, diags).run();
}

}  // namespace pk::interp
