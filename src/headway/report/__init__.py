"""Shows what `measure` computed: sentences, tables, charts, an HTML page, a picture."""

from headway.report.html import html_report, write_html
from headway.report.picture import save_picture
from headway.report.sentences import answer, question

__all__ = ["answer", "html_report", "question", "save_picture", "write_html"]
