# One image for web and worker; compose.yaml says which it is.
ARG PYTHON_IMAGE=python:3.13.7-slim
FROM ${PYTHON_IMAGE}

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 TOUCHSTONE_VAR=/var/lib/touchstone
WORKDIR /app

COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt

COPY manage.py pyproject.toml ./
COPY config config
COPY annotator annotator
COPY pipeline pipeline
COPY templates templates
COPY static static
COPY fixtures fixtures

# Static files are part of the image; the key is for this one command and is kept nowhere.
RUN SECRET_KEY=for-collectstatic-only-and-kept-nowhere-0123456789-abcdefghij python manage.py collectstatic --noinput \
    && mkdir -p "$TOUCHSTONE_VAR/media" \
    && useradd --system --home-dir "$TOUCHSTONE_VAR" touchstone \
    && chown -R touchstone "$TOUCHSTONE_VAR"
USER touchstone

EXPOSE 8000
CMD ["python", "-m", "gunicorn", "--config", "config/gunicorn.py", "--bind", "0.0.0.0:8000"]
