#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

// What processes take of the machine, from /proc. What cannot be read, because the process is gone,
// counts as nothing.
namespace muster::bench {

// Seconds of CPU that the process has used.
double CpuSeconds(pid_t pid);
// The same for the process, its children and those that have ended.
double TreeCpuSeconds(pid_t pid);
// By thread.
std::map<pid_t, double> ThreadCpuSeconds(pid_t pid);
// Seconds of CPU that the whole machine has used, all cores together.
double MachineCpuSeconds();
// Of the last minute.
double LoadAverage();

// Resident bytes.
int64_t ResidentBytes(pid_t pid);
// Of the process and its children, what they share counted once.
int64_t TreeResidentBytes(pid_t pid);

}  // namespace muster::bench
