"""The tables and columns of version 0.2."""

import annotator.core.models.base
import annotator.core.models.people
import annotator.core.vocabulary
import django.core.validators
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotator', '0010_pending_calls'),
    ]

    operations = [
        migrations.AddField(
            model_name='corpus',
            name='created_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='corpora', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='claim',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='benchmark',
            name='two_step',
            field=models.CharField(choices=[('nobody', 'Nobody'), ('managers', 'Owners and admins'), ('everyone', 'Everyone')], default=annotator.core.vocabulary.TwoStep['NOBODY'], help_text='Who must sign in with a second step (an authenticator app or a passkey) to see this benchmark.', max_length=12),
        ),
        migrations.AddField(
            model_name='benchmark',
            name='archived_at',
            field=models.DateTimeField(blank=True, help_text='Since when nobody is given work here. Reading and exporting go on.', null=True),
        ),
        migrations.AddField(
            model_name='benchmark',
            name='deleting_at',
            field=models.DateTimeField(blank=True, editable=False, help_text='Since when a worker deletes it; nobody finds it any more.', null=True),
        ),
        migrations.AddField(
            model_name='benchmark',
            name='protocol_sha256',
            field=models.CharField(blank=True, default='', editable=False, help_text="The version of the stages' protocol in use. Blank: the default one, before the first person starts.", max_length=64),
        ),
        migrations.AddField(
            model_name='document',
            name='discard_code',
            field=annotator.core.models.base.LabelField(blank=True, choices=[('procedure', 'A procedure, not a set of facts'), ('not_facts', 'Question isn’t about facts'), ('riddle', 'Riddle'), ('broken', 'Broken response'), ('disputed', 'Highly disputed'), ('other', 'Other')], default='', max_length=32),
        ),
        migrations.AddField(
            model_name='annotation',
            name='note',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='annotation',
            name='too_fast',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='responserevision',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='runitem',
            name='waits',
            field=models.BooleanField(default=False, help_text='Its next answers come with a batch; no worker takes it.'),
        ),
        migrations.AddField(
            model_name='sentence',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='sentencerevision',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='stance',
            name='in_view_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name='stance',
            name='rationale',
            field=models.JSONField(blank=True, default=list, help_text='Words of the passage that decide: [start, end] in code points.'),
        ),
        migrations.AddField(
            model_name='stance',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='verdict',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='claimrevision',
            name='answers',
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name='invitation',
            name='max_uses',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='invitation',
            name='note',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='invitation',
            name='uses',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='release',
            name='with_pages',
            field=models.BooleanField(default=False, help_text='Holds the saved pages of its evidence, as WACZ.'),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='message',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='seen_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='share',
            field=models.FloatField(default=1.0),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='started_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='evaluation',
            name='state',
            field=models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('paused', 'Paused'), ('finished', 'Finished'), ('failed', 'Failed'), ('cancelled', 'Canceled')], default=annotator.core.vocabulary.RunState['FINISHED'], max_length=16),
        ),
        migrations.AddField(
            model_name='pendingcall',
            name='request',
            field=models.JSONField(blank=True, help_text='{service, request}: waits for a batch, or is in one.', null=True),
        ),
        migrations.CreateModel(
            name='BatchChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(choices=[('fill', 'Adding documents'), ('empty', 'Releasing documents'), ('take-back', 'Unassigning open work')], max_length=16)),
                ('total', models.PositiveIntegerField(default=0)),
                ('done', models.PositiveIntegerField(default=0)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('batch', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='change', to='annotator.batch')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('what__in', ['fill', 'empty', 'take-back'])), name='annotator_batchchange_what_word')],
            },
        ),
        migrations.CreateModel(
            name='CrowdLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True)),
                ('token', models.CharField(default=annotator.core.models.people.new_token, editable=False, max_length=64, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('platform', models.CharField(choices=[('prolific', 'Prolific'), ('mturk', 'Mechanical Turk'), ('other', 'Another platform')], default=annotator.core.vocabulary.CrowdPlatform['PROLIFIC'], max_length=16)),
                ('consent', models.TextField()),
                ('documents', models.PositiveIntegerField(default=1, validators=[django.core.validators.MinValueValidator(1)])),
                ('completion_code', models.CharField(max_length=64)),
                ('reward', models.CharField(blank=True, max_length=60)),
                ('max_workers', models.PositiveIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='crowd_links', to='annotator.benchmark')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='crowd_links', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('platform__in', ['prolific', 'mturk', 'other'])), name='annotator_crowdlink_platform_word'), models.CheckConstraint(condition=models.Q(('documents__gte', 1)), name='annotator_crowdlink_documents')],
            },
        ),
        migrations.CreateModel(
            name='DocumentChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True)),
                ('what', models.CharField(choices=[('move', 'Moving documents'), ('discard', 'Discarding documents'), ('restore', 'Restoring documents'), ('reopen', 'Reopening documents')], max_length=16)),
                ('total', models.PositiveIntegerField(default=0)),
                ('done', models.PositiveIntegerField(default=0)),
                ('refused', models.PositiveIntegerField(default=0)),
                ('problems', models.JSONField(blank=True, default=list)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='document_changes', to='annotator.benchmark')),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('what__in', ['move', 'discard', 'restore', 'reopen'])), name='annotator_documentchange_what_word')],
            },
        ),
        migrations.CreateModel(
            name='DocumentView',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True)),
                ('name', models.CharField(max_length=80)),
                ('query', models.TextField(blank=True)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='views', to='annotator.benchmark')),
                ('by', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='document_views', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('by', 'benchmark', 'name'), name='annotator_documentview_name_once')],
            },
        ),
        migrations.CreateModel(
            name='ModelBatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True)),
                ('name', models.CharField(blank=True, help_text="The service's own.", max_length=200)),
                ('requests', models.PositiveIntegerField()),
                ('unanswered', models.JSONField(blank=True, default=list, help_text='Keys of requests to be asked one by one.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('handed_over_at', models.DateTimeField(blank=True, help_text='When the service was first asked.', null=True)),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
                ('over_at', models.DateTimeField(blank=True, null=True)),
                ('next_look_at', models.DateTimeField(blank=True, help_text='No worker looks at it before.', null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='model_batches', to='annotator.pipelinerun')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='PageArchive',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('record', models.BinaryField()),
                ('snapshot', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='archive', to='annotator.pagesnapshot')),
            ],
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('name', models.CharField(max_length=120)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('added_at', models.DateTimeField(blank=True, null=True)),
                ('benchmark', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pools', to='annotator.benchmark')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_pool_public_id_once'), models.UniqueConstraint(fields=('benchmark', 'name'), name='annotator_pool_name_once')],
            },
        ),
        migrations.CreateModel(
            name='ProtocolVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('name', models.SlugField(db_index=False, max_length=60)),
                ('number', models.PositiveIntegerField()),
                ('content', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('frozen_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('benchmark', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='protocols', to='annotator.benchmark')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name', '-number'],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_protocolversion_public_id_once'), models.UniqueConstraint(fields=('benchmark', 'name', 'number'), name='annotator_protocolversion_once')],
            },
        ),
        migrations.CreateModel(
            name='Recheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('seen_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rechecks', to='annotator.benchmark')),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True)), fields=('benchmark',), name='annotator_recheck_one_at_a_time')],
            },
        ),
        migrations.CreateModel(
            name='SecurityEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('kind', models.CharField(choices=[('sign-in', 'Signed in'), ('sign-out', 'Signed out'), ('failed', 'Failed sign-in'), ('throttled', 'Too many failed sign-ins'), ('password', 'Password changed'), ('reset', 'Password reset by email'), ('email', 'Email address changed'), ('step-added', 'Second step added'), ('step-removed', 'Second step removed'), ('step-failed', 'Second step failed')], max_length=24)),
                ('name', models.CharField(blank=True, max_length=150)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('detail', models.CharField(blank=True, max_length=200)),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='security_events', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['user', '-id'], name='annotator_security_user')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['sign-in', 'sign-out', 'failed', 'throttled', 'password', 'reset', 'email', 'step-added', 'step-removed', 'step-failed'])), name='annotator_securityevent_kind_word')],
            },
        ),
        migrations.CreateModel(
            name='Service',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32, unique=True)),
                ('kind', models.CharField(choices=[('chat', 'Language model'), ('search', 'Search')], max_length=16)),
                ('provider', models.CharField(max_length=20)),
                ('url', models.CharField(blank=True, help_text="Blank: the provider's own address.", max_length=500)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('encrypted_key', models.TextField(blank=True)),
                ('price_prompt', models.FloatField(default=0)),
                ('price_answer', models.FloatField(default=0)),
                ('price_query', models.FloatField(default=0)),
                ('test', models.JSONField(blank=True, default=dict, help_text='{waiting} or {at, lines: [{works, text}]}: what the last test found.')),
                ('changed_at', models.DateTimeField(auto_now=True)),
                ('benchmark', models.ForeignKey(blank=True, help_text='Blank: of the installation.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='services', to='annotator.benchmark')),
                ('changed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('calls_per_minute', models.PositiveIntegerField(blank=True, help_text='Blank: no limit.', null=True)),
                ('money_per_month', models.FloatField(blank=True, help_text='By calendar month, UTC. Blank: no limit.', null=True)),
                ('next_call_at', models.DateTimeField(blank=True, help_text='When the limit allows the next call.', null=True)),
            ],
            options={
                'ordering': ['kind'],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'kind'), name='annotator_service_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['chat', 'search'])), name='annotator_service_kind_word'), models.CheckConstraint(condition=models.Q(('price_answer__gte', 0), ('price_prompt__gte', 0), ('price_query__gte', 0)), name='annotator_service_prices'), models.UniqueConstraint(condition=models.Q(('benchmark__isnull', True)), fields=('kind',), name='annotator_service_of_installation_once'), models.CheckConstraint(condition=models.Q(('calls_per_minute__isnull', True), ('calls_per_minute__gt', 0), _connector='OR'), name='annotator_service_calls_per_minute'), models.CheckConstraint(condition=models.Q(('money_per_month__isnull', True), ('money_per_month__gt', 0), _connector='OR'), name='annotator_service_money_per_month')],
            },
        ),
        migrations.CreateModel(
            name='ServiceUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('service', models.CharField(blank=True, help_text='Its public id. Blank: set by the environment.', max_length=32)),
                ('kind', models.CharField(max_length=16)),
                ('name', models.CharField(max_length=300)),
                ('day', models.DateField()),
                ('calls', models.PositiveIntegerField(default=0)),
                ('prompt_tokens', models.PositiveBigIntegerField(default=0)),
                ('answer_tokens', models.PositiveBigIntegerField(default=0)),
                ('money', models.FloatField(default=0)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='service_uses', to='annotator.benchmark')),
            ],
            options={
                'ordering': ['day', 'id'],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'service', 'kind', 'name', 'day'), name='annotator_serviceuse_once')],
            },
        ),
        migrations.CreateModel(
            name='BatchChangeRows',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keys', models.JSONField(default=list)),
                ('plan', models.JSONField(blank=True, default=dict)),
                ('change', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='annotator.batchchange')),
            ],
        ),
        migrations.CreateModel(
            name='CrowdWorker',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker_id', models.CharField(max_length=128)),
                ('study_id', models.CharField(blank=True, max_length=128)),
                ('session_id', models.CharField(blank=True, max_length=128)),
                ('consented_at', models.DateTimeField(auto_now_add=True)),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='workers', to='annotator.crowdlink')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='crowd_work', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('link', 'worker_id'), name='annotator_crowdworker_once')],
            },
        ),
        migrations.CreateModel(
            name='DocumentChangeRows',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('keys', models.JSONField(default=list)),
                ('plan', models.JSONField(blank=True, default=dict)),
                ('change', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='annotator.documentchange')),
            ],
        ),
        migrations.CreateModel(
            name='PageCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('outcome', models.CharField(blank=True, choices=[('same', 'Unchanged'), ('changed', 'Changed'), ('vanished', 'Gone'), ('retracted', 'Retracted'), ('unreached', 'Couldn’t be checked')], default='', max_length=16)),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('checked_at', models.DateTimeField(blank=True, null=True)),
                ('found', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='found_by', to='annotator.pagesnapshot')),
                ('snapshot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='annotator.pagesnapshot')),
                ('recheck', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='annotator.recheck')),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('found__isnull', False)), fields=['found'], name='annotator_pagecheck_found')],
                'constraints': [models.UniqueConstraint(fields=('recheck', 'snapshot'), name='annotator_pagecheck_once'), models.CheckConstraint(condition=models.Q(('outcome__in', ['same', 'changed', 'vanished', 'retracted', 'unreached', ''])), name='annotator_pagecheck_outcome_word'), models.CheckConstraint(condition=models.Q(models.Q(('checked_at__isnull', True), ('outcome', '')), models.Q(models.Q(('outcome', ''), _negated=True), ('checked_at__isnull', False)), _connector='OR'), name='annotator_pagecheck_outcome_has_a_time')],
            },
        ),
        migrations.CreateModel(
            name='PoolStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('length', 'Length of the response'), ('similarity', 'Similarity to a reference answer'), ('score', 'Machine score'), ('duplicates', 'Duplicates'), ('by_hand', 'By hand')], max_length=16)),
                ('values', models.JSONField(blank=True, default=dict)),
                ('before', models.PositiveIntegerField()),
                ('after', models.PositiveIntegerField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('pool', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='annotator.pool')),
            ],
            options={
                'ordering': ['order'],
                'constraints': [models.UniqueConstraint(fields=('pool', 'order'), name='annotator_poolstep_order_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['length', 'similarity', 'score', 'duplicates', 'by_hand'])), name='annotator_poolstep_kind_word')],
            },
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('name', models.CharField(max_length=120)),
                ('seed', models.PositiveIntegerField(default=0)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('benchmark', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='studies', to='annotator.benchmark')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL)),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='studies', to='annotator.protocolversion')),
            ],
            options={
                'verbose_name_plural': 'studies',
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_study_public_id_once'), models.UniqueConstraint(fields=('benchmark', 'name'), name='annotator_study_name_once')],
            },
        ),
        migrations.CreateModel(
            name='PoolCandidate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('order', models.PositiveIntegerField()),
                ('external_id', models.CharField(max_length=200)),
                ('source', models.CharField(blank=True, max_length=200)),
                ('prompt', models.TextField(blank=True)),
                ('response', models.TextField()),
                ('data', models.JSONField(blank=True, default=dict)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('pool', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='candidates', to='annotator.pool')),
                ('step', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='dropped', to='annotator.poolstep')),
            ],
            options={
                'ordering': ['order'],
                'indexes': [models.Index(condition=models.Q(('step__isnull', False)), fields=['step'], name='annotator_poolcandidate_step')],
                'constraints': [models.UniqueConstraint(fields=('pool', 'order'), name='annotator_poolcandidate_order_once'), models.UniqueConstraint(fields=('pool', 'external_id'), name='annotator_poolcandidate_external_once')],
            },
        ),
        migrations.CreateModel(
            name='StudyItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('order', models.PositiveIntegerField()),
                ('external_id', models.CharField(max_length=200)),
                ('stratum', models.CharField(blank=True, max_length=120)),
                ('prompt', models.TextField(blank=True)),
                ('text', models.TextField(blank=True)),
                ('data', models.JSONField(blank=True, default=dict)),
                ('dropped', models.CharField(blank=True, choices=[('identical', 'Identical candidates')], default='', max_length=16)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='annotator.study')),
            ],
            options={
                'ordering': ['order'],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_studyitem_public_id_once'), models.UniqueConstraint(fields=('study', 'order'), name='annotator_studyitem_order_once'), models.UniqueConstraint(fields=('study', 'external_id'), name='annotator_studyitem_external_once'), models.CheckConstraint(condition=models.Q(('dropped__in', ['identical', ''])), name='annotator_studyitem_dropped_word')],
            },
        ),
        migrations.CreateModel(
            name='StudyRater',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='study_seats', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='raters', to='annotator.study')),
            ],
            options={
                'ordering': ['number'],
                'constraints': [models.UniqueConstraint(fields=('study', 'person'), name='annotator_studyrater_once'), models.UniqueConstraint(fields=('study', 'number'), name='annotator_studyrater_number_once')],
            },
        ),
        migrations.CreateModel(
            name='StudyAssignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('round', models.CharField(default='rate', max_length=40)),
                ('position', models.PositiveIntegerField()),
                ('arrangement', models.JSONField(blank=True, default=list)),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('active_seconds', models.PositiveIntegerField(default=0)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='study_assignments', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='annotator.study')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='annotator.studyitem')),
            ],
            options={
                'ordering': ['position'],
                'indexes': [models.Index(condition=models.Q(('submitted_at__isnull', True)), fields=['study', 'person', 'position'], name='annotator_assignment_next')],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_studyassignment_public_id_once'), models.UniqueConstraint(fields=('item', 'person', 'round'), name='annotator_assignment_once'), models.UniqueConstraint(fields=('study', 'person', 'round', 'position'), name='annotator_assignment_position_once')],
            },
        ),
        migrations.CreateModel(
            name='StudyActivity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('activity', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='study', to='annotator.activity')),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='activities', to='annotator.studyassignment')),
            ],
            options={
                'verbose_name_plural': 'study activities',
                'ordering': ['activity_id'],
            },
        ),
        migrations.CreateModel(
            name='StudyPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('kind', models.CharField(max_length=40)),
                ('order', models.FloatField(help_text='Between two others for a part added in place.')),
                ('source', models.CharField(blank=True, max_length=200)),
                ('text', models.TextField(blank=True)),
                ('data', models.JSONField(blank=True, default=dict)),
                ('removed', models.BooleanField(default=False)),
                ('assignment', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='added', to='annotator.studyassignment')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='annotator.studyitem')),
                ('parent', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='annotator.studypart')),
            ],
            options={
                'ordering': ['order', 'id'],
                'indexes': [models.Index(fields=['item', 'order'], name='annotator_studypart_order'), models.Index(condition=models.Q(('parent__isnull', False)), fields=['parent'], name='annotator_studypart_parent'), models.Index(condition=models.Q(('assignment__isnull', False)), fields=['assignment'], name='annotator_studypart_added')],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_studypart_public_id_once'), models.CheckConstraint(condition=models.Q(('removed', False), ('assignment__isnull', False), _connector='OR'), name='annotator_studypart_removes_own')],
            },
        ),
        migrations.CreateModel(
            name='StudyAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=annotator.core.models.base.new_public_id, editable=False, max_length=32)),
                ('version', models.PositiveIntegerField(default=1)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('question', models.CharField(max_length=40)),
                ('value', models.JSONField(blank=True, null=True)),
                ('origin', models.CharField(blank=True, choices=[('accepted', 'suggestion, accepted'), ('edited', 'suggestion, edited'), ('human', 'by a person'), ('imported', 'imported'), ('consolidated', 'adjudicated')], default='', max_length=16)),
                ('changed_at', models.DateTimeField(auto_now=True)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='annotator.studyassignment')),
                ('part', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='annotator.studypart')),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(condition=models.Q(('part__isnull', False)), fields=['part'], name='annotator_studyanswer_part')],
                'constraints': [models.UniqueConstraint(fields=('public_id',), name='annotator_studyanswer_public_id_once'), models.UniqueConstraint(condition=models.Q(('part__isnull', True)), fields=('assignment', 'question'), name='annotator_studyanswer_item_once'), models.UniqueConstraint(condition=models.Q(('part__isnull', False)), fields=('assignment', 'part', 'question'), name='annotator_studyanswer_part_once'), models.CheckConstraint(condition=models.Q(('origin__in', ['accepted', 'edited', 'human', 'imported', 'consolidated', ''])), name='annotator_studyanswer_origin_word')],
            },
        ),
        migrations.AddConstraint(
            model_name='benchmark',
            constraint=models.CheckConstraint(condition=models.Q(('two_step__in', ['nobody', 'managers', 'everyone'])), name='annotator_benchmark_two_step_word'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('discard_code__in', ['procedure', 'not_facts', 'riddle', 'broken', 'disputed', 'other', ''])), name='annotator_document_discard_code_word'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.CheckConstraint(condition=models.Q(('phase', annotator.core.vocabulary.Phase['DISCARDED']), ('discard_code', ''), _connector='OR'), name='annotator_document_code_only_if_discarded'),
        ),
        migrations.AddConstraint(
            model_name='evaluation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'paused', 'finished', 'failed', 'cancelled'])), name='annotator_evaluation_state_word'),
        ),
        migrations.AddField(
            model_name='pendingcall',
            name='service',
            field=models.ForeignKey(blank=True, help_text='The limited service that is called.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='pending_calls', to='annotator.service'),
        ),
        migrations.AddField(
            model_name='pendingcall',
            name='batch',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='annotator.modelbatch'),
        ),
    ]
