"""Shows what `measure` computed: sentences, tables, charts, an HTML page (and `picture`, for a README)."""

from headway.report.html import html_report, write_html
from headway.report.sentences import answer, question

__all__ = ["answer", "html_report", "question", "write_html"]
