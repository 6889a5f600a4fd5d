# lifelong with its server, the driver of PostgreSQL and models of any provider. docs/deploy.md says how to run it.
FROM python:3.13 AS build
WORKDIR /source
COPY pyproject.toml requirements.lock README.md CHANGELOG.md LICENSE ./
COPY src src
# The versions that the tests run with
RUN sed -e '/--hash=/d' -e 's/ \\$//' requirements.lock > constraints.txt \
 && python -m venv /opt/lifelong \
 && /opt/lifelong/bin/pip install --no-cache-dir --constraint constraints.txt '.[serve,postgres,llm]'

FROM python:3.13-slim
COPY --from=build /opt/lifelong /opt/lifelong
ENV PATH=/opt/lifelong/bin:$PATH LIFELONG_HOME=/var/lib/lifelong PYTHONUNBUFFERED=1
# A home of its own, for a user who may do nothing else; a new volume gets its owner and mode
RUN useradd --system --uid 10001 --home-dir /var/lib/lifelong lifelong \
 && install -d -m 700 -o lifelong -g lifelong /var/lib/lifelong
USER 10001
# The settings of a new home. Its database is made when it is first opened, in PostgreSQL or here
RUN lifelong init && rm -f /var/lib/lifelong/lifelong.db*
VOLUME /var/lib/lifelong
EXPOSE 8377
HEALTHCHECK --interval=60s --timeout=30s --start-period=30s CMD ["lifelong", "health"]
ENTRYPOINT ["lifelong"]
# Off loopback the server does not start without a token: docker run -e LIFELONG_TOKEN …
CMD ["serve", "--host", "0.0.0.0"]
