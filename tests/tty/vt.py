"""
A small terminal: what a program writes becomes a grid of characters with their colours. Knows what curses sends to an
xterm: cursor moves, erasing, inserting and deleting, scrolling regions, SGR, the alternate screen, modes. What it does
not know it keeps in `unknown`, so that a test can say so.
"""

import re
import unicodedata

CSI = re.compile(r"\x1b\[([?>=!]?)([0-9;:]*)([ -/]*)([@-~])")
OSC = re.compile(r"\x1b\](.*?)(\x07|\x1b\\)", re.S)


def width(char):
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


class Screen:
    def __init__(self, rows=24, columns=80):
        self.rows, self.columns = rows, columns
        self.modes, self.osc, self.unknown = {}, [], []
        self.left = ""  # of the input: a sequence whose end has not come
        self.colours_seen = set()
        self.attributes_seen = set()
        self.bells = 0
        self.last = " "
        self.clear()

    def clear(self):
        self.grid = [[" "] * self.columns for _ in range(self.rows)]
        self.sgr = [[""] * self.columns for _ in range(self.rows)]
        self.y = self.x = 0
        self.top, self.bottom = 0, self.rows - 1
        self.style = ""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.clear()

    def line(self, y):
        return "".join(self.grid[y]).rstrip()

    @property
    def text(self):
        return "\n".join(self.line(y) for y in range(self.rows))

    def feed(self, text):
        text, self.left = self.left + text, ""
        i = 0
        while i < len(text):
            char = text[i]
            if char != "\x1b":
                self.plain(char)
                i += 1
                continue
            match = CSI.match(text, i) or OSC.match(text, i)
            if match:
                if match.re is CSI:
                    self.csi(*match.groups())
                else:
                    self.osc.append(match.group(1))
                i = match.end()
            elif len(text) - i < (3 if text[i + 1:i + 2] in "()*+" else 2) or text[i + 1] in "[]" and len(text) - i < 4096:
                self.left = text[i:]
                return
            else:
                i += self.escape(text[i + 1:i + 3])

    def escape(self, what):
        if what[0] in "()*+":  # a character set
            return 3
        if what[0] == "M":
            if self.y == self.top:
                self.scroll(-1)
            else:
                self.y -= 1
        elif what[0] == "7":
            self.saved = (self.y, self.x)
        elif what[0] == "8":
            self.y, self.x = getattr(self, "saved", (0, 0))
        elif what[0] not in "=>c":
            self.unknown.append("ESC " + what[0])
        return 2

    def plain(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            if self.y == self.bottom:
                self.scroll(1)
            else:
                self.y = min(self.y + 1, self.rows - 1)
        elif char == "\b":
            self.x = max(0, self.x - 1)
        elif char == "\t":
            self.x = min(self.columns - 1, self.x // 8 * 8 + 8)
        elif char == "\a":
            self.bells += 1
        elif char < " ":
            if char not in "\x0e\x0f\x00":
                self.unknown.append(repr(char))
        else:
            self.put(char)

    def put(self, char):
        wide = width(char)
        if wide == 0:
            at = max(0, self.x - 1)
            if self.grid[self.y][at] == "" and at:
                at -= 1
            self.grid[self.y][at] += char
            return
        if self.x + wide > self.columns:
            self.x = 0
            self.plain("\n")
        self.grid[self.y][self.x] = char
        self.sgr[self.y][self.x] = self.style
        if wide == 2:
            self.grid[self.y][self.x + 1] = ""
        self.x += wide
        self.last = char

    def scroll(self, n):
        for _ in range(abs(n)):
            gone, come = (self.top, self.bottom) if n > 0 else (self.bottom, self.top)
            for grid, blank in ((self.grid, " "), (self.sgr, "")):
                del grid[gone]
                grid.insert(come, [blank] * self.columns)

    def erase(self, y, first, end):
        for x in range(max(0, first), min(end, self.columns)):
            self.grid[y][x], self.sgr[y][x] = " ", self.style

    def csi(self, private, params, middle, final):
        numbers = [int(n) if n else 0 for n in re.split("[;:]", params)] if params else []
        n = max(1, numbers[0]) if numbers else 1
        if private:
            if final in "hl":
                for number in numbers:
                    self.modes[number] = final == "h"
                    if number == 1049:
                        self.clear()
            elif final not in "cmnuq":
                self.unknown.append(f"CSI {private}{params}{final}")
            return
        if middle:
            return
        handler = getattr(self, "csi_" + {"@": "ich", "`": "hpa"}.get(final, final), None)
        if handler:
            handler(n, numbers)
        else:
            self.unknown.append(f"CSI {params}{final}")

    def move(self, y, x):
        self.y, self.x = min(max(y, 0), self.rows - 1), min(max(x, 0), self.columns - 1)

    def csi_A(self, n, _):
        self.move(self.y - n, self.x)

    def csi_B(self, n, _):
        self.move(self.y + n, self.x)

    def csi_C(self, n, _):
        self.move(self.y, self.x + n)

    def csi_D(self, n, _):
        self.move(self.y, self.x - n)

    def csi_G(self, n, _):
        self.move(self.y, n - 1)

    csi_hpa = csi_G

    def csi_d(self, n, _):
        self.move(n - 1, self.x)

    def csi_H(self, n, numbers):
        self.move(n - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else 1) - 1)

    csi_f = csi_H

    def csi_J(self, _, numbers):
        kind = numbers[0] if numbers else 0
        if kind == 0:
            self.erase(self.y, self.x, self.columns)
        for y in range(self.rows):
            if kind in (2, 3) or (kind == 0 and y > self.y) or (kind == 1 and y < self.y):
                self.erase(y, 0, self.columns)

    def csi_K(self, _, numbers):
        kind = numbers[0] if numbers else 0
        self.erase(self.y, 0 if kind else self.x, self.x + 1 if kind == 1 else self.columns)

    def csi_X(self, n, _):
        self.erase(self.y, self.x, self.x + n)

    def csi_P(self, n, _):
        for grid, blank in ((self.grid, " "), (self.sgr, "")):
            row = grid[self.y]
            row[self.x:] = row[self.x + n:] + [blank] * min(n, self.columns - self.x)

    def csi_ich(self, n, _):
        for grid, blank in ((self.grid, " "), (self.sgr, "")):
            row = grid[self.y]
            row[self.x:] = ([blank] * n + row[self.x:])[:self.columns - self.x]

    def lines(self, n, down):
        top, self.top = self.top, self.y
        self.scroll(-n if down else n)
        self.top = top

    def csi_L(self, n, _):
        self.lines(n, True)

    def csi_M(self, n, _):
        self.lines(n, False)

    def csi_S(self, n, _):
        self.scroll(n)

    def csi_T(self, n, _):
        self.scroll(-n)

    def csi_b(self, n, _):
        for _ in range(n):
            self.put(self.last)

    def csi_r(self, n, numbers):
        # What was written for a taller screen reaches one that was made smaller since: it has no lines below its last.
        self.bottom = min(numbers[1] if len(numbers) > 1 else self.rows, self.rows) - 1
        self.top = min(n - 1, self.bottom)
        self.move(0, 0)

    def csi_m(self, _, numbers):
        numbers = numbers or [0]
        self.style = "" if numbers == [0] else ";".join(map(str, numbers))
        for number in numbers:
            if number >= 30 and number not in (39, 49):
                self.colours_seen.add(number)
                return  # what follows may be a part of this colour
            if number:
                self.attributes_seen.add(number)

    def csi_h(self, *_):
        pass

    csi_l = csi_c = csi_n = csi_t = csi_h
