#include "daemon/control/kernel_entries.hpp"

#include "kernels/kernel_facts.hpp"

#include <utility>

namespace overlap {
namespace {

static_assert(static_cast<int>(ListedType::real) == static_cast<int>(ParameterType::real) &&
              static_cast<int>(ListedType::integer) == static_cast<int>(ParameterType::integer) &&
              static_cast<int>(ListedType::choice) == static_cast<int>(ParameterType::choice));

ListedParameter listed_parameter(const Parameter& parameter) {
  ListedParameter listed;
  listed.name = parameter.name;
  listed.type = static_cast<ListedType>(parameter.type);
  listed.per_job = parameter.per_job;
  switch (parameter.type) {
    case ParameterType::real:
      listed.default_value.f64 = parameter.default_value.f64;
      break;
    case ParameterType::integer:
      listed.default_value.i64 = parameter.default_value.i64;
      break;
    case ParameterType::choice:
      listed.default_value.choice_index = parameter.default_value.choice_index;
      break;
  }
  if (parameter.type != ParameterType::choice) {
    listed.minimum = parameter.minimum;
    listed.maximum = parameter.maximum;
  }
  listed.unit = parameter.unit;
  listed.help = parameter.help;
  listed.choices.assign(parameter.choices.begin(), parameter.choices.end());
  return listed;
}

}  // namespace

ListedKernel listed_kernel(const Kernel& kernel) {
  const KernelFacts facts = facts_of(kernel);
  ListedKernel listed;
  listed.name = kernel.name();
  listed.summary = kernel.summary();
  listed.origin = kernel.origin();
  listed.table_help = kernel.table_help();
  listed.flags = (kernel.has_host() ? kListedHost : 0U) | (kernel.has_cuda() ? kListedCuda : 0U) |
                 (facts.is_stateful ? kListedStateful : 0U) |
                 (facts.takes_table ? kListedTable : 0U);
  for (const Parameter& parameter : kernel.parameters()) {
    listed.parameters.push_back(listed_parameter(parameter));
  }
  return listed;
}

KernelListReply kernel_entry(const KernelRegistry& kernels, std::uint32_t index) {
  const std::vector<const Kernel*> loaded = kernels.all();
  const std::vector<RefusedKernels>& refused = kernels.refused();
  auto reply = make_message<KernelListReply>(MessageType::kernel_list_reply);
  reply.index = index;
  reply.count = static_cast<std::uint32_t>(loaded.size() + refused.size());
  if (index < loaded.size()) {
    write_listed(reply, listed_kernel(*loaded[index]));
  } else if (index < reply.count) {
    ListedKernel listed;
    listed.kind = ListedKind::refused;
    listed.origin = refused[index - loaded.size()].file;
    listed.summary = refused[index - loaded.size()].reason;
    write_listed(reply, listed);
  }
  return reply;
}

}  // namespace overlap
