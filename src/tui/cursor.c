#include "config.h"

#include "tui/cursor.h"

bool cursor_move(size_t *at, size_t n, int page, enum action action)
{
	size_t step = page > 1 ? (size_t)page - 1 : 1, last = n ? n - 1 : 0;

	switch (action) {
	case ACTION_DOWN:
		*at = *at < last ? *at + 1 : last;
		break;
	case ACTION_UP:
		*at -= *at > 0;
		break;
	case ACTION_PAGE_DOWN:
		*at = *at < last && last - *at > step ? *at + step : last;
		break;
	case ACTION_PAGE_UP:
		*at = *at > step ? *at - step : 0;
		break;
	case ACTION_TOP:
		*at = 0;
		break;
	case ACTION_BOTTOM:
		*at = last;
		break;
	default:
		return false;
	}
	return true;
}

size_t cursor_top(size_t top, size_t at, size_t n, int page)
{
	size_t rows = page > 0 ? (size_t)page : 1;

	if (at < top)
		top = at;
	if (at >= top + rows)
		top = at - rows + 1;
	if (top + rows > n)
		top = n > rows ? n - rows : 0;
	return top;
}
