// SPDX-License-Identifier: MIT
#include "serve/http.h"

#include <dlfcn.h>

#include "base/err.h"

#define LIBRARY "libmicrohttpd.so.12"

int http_load(struct http *ret)
{
	struct http h;
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return err_set(-ENOENT,
			       "%s: this needs libmicrohttpd (Debian: libmicrohttpd12); without "
			       "it, thaw export -f html makes the same page",
			       dlerror());
#define F(name)                                                                                    \
	h.name = (__typeof__(h.name))dlsym(lib, "MHD_" #name);                                     \
	if (!h.name)                                                                               \
		return err_set(-ENOENT, "%s is not the one that is needed: %s", LIBRARY, dlerror());
	HTTP_FUNCTIONS(F)
#undef F
	*ret = h;
	return 0;
}
