// SPDX-License-Identifier: MIT
/* META chunks: pairs of strings, key and value, until the end of the payload. */
#include "store/tables.h"

#include "base/err.h"

void facts_put(struct buf *out, const char *key, const char *value)
{
	buf_put_str(out, key);
	buf_put_str(out, value);
}

int facts_read(struct capture_facts *f, struct cursor c)
{
	while (!cur_end(&c)) {
		size_t nk, nv;
		const char *k = cur_str_ref(&c, &nk), *v = cur_str_ref(&c, &nv);

		if (!k || !v)
			return err_set(-EBADMSG, "a fact is malformed");
		vec_push(&f->list,
			 (struct fact){pool_str(&f->pool, k, nk), pool_str(&f->pool, v, nv)});
	}
	return 0;
}

void facts_done(struct capture_facts *f)
{
	vec_done(&f->list);
	pool_done(&f->pool);
}
