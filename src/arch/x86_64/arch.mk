# What the build needs to know of x86-64.
BPF_TARGET := x86
# The names that a loader may have for the machine ($PLATFORM), and those of its 32-bit one.
PRELOAD_64 := x86_64 haswell xeon_phi
PRELOAD_32 := i386 i486 i586 i686
