# syntax=docker/dockerfile:1
# ProAS with its command line, run as an ordinary user: docker build -t proas . && docker run --rm proas --help

FROM python:3.12-slim-bookworm AS build
WORKDIR /src
# proas/ holds relative symlinks to the three folders beside it, so all four are needed.
COPY pyproject.toml README.md LICENSE ./
COPY proas ./proas
COPY cli ./cli
COPY graph_builders ./graph_builders
COPY cypher ./cypher
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim-bookworm
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/*.whl && rm -r /wheels \
    && useradd --create-home --uid 1000 proas \
    && mkdir /work && chown proas /work
USER proas
WORKDIR /work
ENTRYPOINT ["proas"]
CMD ["--help"]
