// SPDX-License-Identifier: MIT
#include "symbol/handing.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union handing_rights {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int handing_send(int socket, const void *bytes, size_t n, int fd)
{
	union handing_rights rights = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS}};
	struct iovec iov = {(void *)bytes, n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		memcpy(CMSG_DATA(&rights.head), &fd, sizeof(fd));
		msg.msg_control = &rights;
		msg.msg_controllen = sizeof(rights);
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -errno;
}

ssize_t handing_receive(int socket, void *to, size_t room, int *ret_fd)
{
	union handing_rights rights;
	struct iovec iov = {to, room};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &rights,
			     .msg_controllen = sizeof(rights)};
	struct cmsghdr *c;
	ssize_t n;

	*ret_fd = -1;
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = n ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return n;
}
