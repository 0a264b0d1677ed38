/* SPDX-License-Identifier: MIT */
/* What embed.S puts into thaw. */
#ifndef THAW_HTML_EMBED_H
#define THAW_HTML_EMBED_H

extern const char page_document[], page_document_end[];
extern const char page_engine[], page_engine_end[];

#endif
